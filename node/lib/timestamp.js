'use strict';
// Locks that are shared with older programs, by a Unix time in the key.

const { core, native: addon, outcome } = require('./core.js');
const { checked } = require('./errors.js');
const { millis, name, text } = require('./options.js');

class TimestampLock {
  #how;
  #name;

  constructor(url, of, { timeout, pause } = {}) {
    this.#name = name(of);
    this.#how = [
      text('url', url),
      this.#name,
      timeout === undefined ? undefined : millis('timeout', timeout),
      pause === undefined ? undefined : millis('pause', pause),
    ];
    // What is wrong is told at once.
    this.#open();
  }

  get name() {
    return this.#name;
  }

  async acquire({ patience, signal } = {}) {
    signal?.throwIfAborted();
    const lock = this.#open();
    const limit = patience === undefined ? undefined : millis('patience', patience);
    const value = await outcome(lock.acquire(limit), signal);
    return new TimestampLease(lock, this.#name, value);
  }

  tryAcquire() {
    return this.acquire({ patience: 0 });
  }

  #open() {
    return checked(() => new addon.NativeTimestampLock(core, ...this.#how));
  }
}

class TimestampLease {
  #lock;
  #release;

  constructor(lock, of, value) {
    this.#lock = lock;
    this.name = of;
    this.value = value;
  }

  get remaining() {
    return this.#lock.remaining;
  }

  get valid() {
    return this.remaining > 0;
  }

  extend() {
    return outcome(this.#lock.extend());
  }

  release() {
    this.#release ??= outcome(this.#lock.release());
    return this.#release;
  }

  async [Symbol.asyncDispose]() {
    await this.release();
  }
}

module.exports = { TimestampLease, TimestampLock };
