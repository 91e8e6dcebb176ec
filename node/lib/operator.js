'use strict';
// What operators do with the nodes.

const { outcome } = require('./core.js');
const { checked } = require('./errors.js');
const { millis, name, names, text, whole } = require('./options.js');
const { stream } = require('./stream.js');

class Operator {
  #native;

  constructor(native) {
    this.#native = native;
  }

  get quorum() {
    return this.#native.quorum;
  }

  get isPlain() {
    return this.#native.isPlain;
  }

  within(limit) {
    return new Operator(this.#native.within(millis('limit', limit)));
  }

  answerWithin(limit) {
    return new Operator(this.#native.answerWithin(millis('limit', limit)));
  }

  about(of) {
    return new Operator(checked(() => this.#native.about(name(of))));
  }

  survey() {
    return outcome(this.#native.survey());
  }

  examine() {
    return outcome(this.#native.examine(false));
  }

  examineVotes() {
    return outcome(this.#native.examine(true));
  }

  admit() {
    return outcome(this.#native.admit(false));
  }

  admitNew() {
    return outcome(this.#native.admit(true));
  }

  async list(prefix = '', { most, hashes, answerWithin } = {}) {
    const search = { prefix: text('prefix', prefix) };
    if (most !== undefined) search.most = whole('most', most);
    if (hashes !== undefined) search.hashes = hashes === true;
    if (answerWithin !== undefined) search.answerWithin = millis('answerWithin', answerWithin);
    return outcome(this.#native.list(search));
  }

  async look(of) {
    return outcome(this.#native.look(name(of)));
  }

  async untilFree(of, options) {
    return this.#until(of, undefined, options);
  }

  async untilPermit(of, permits, options) {
    return this.#until(of, whole('permits', permits), options);
  }

  #until(of, permits, { timeout, signal } = {}) {
    signal?.throwIfAborted();
    const limit = timeout === undefined || timeout === Infinity ? undefined : millis('timeout', timeout);
    return outcome(this.#native.untilFree(name(of), permits, limit), signal);
  }

  lookOn(of) {
    return stream(
      checked(() => this.#native.lookOn(name(of))),
      (seen) => seen,
    );
  }

  observe(election) {
    return stream(
      checked(() => this.#native.observe(name(election))),
      (state) => {
        if (state.termAtMost != null) state.termAtMost = BigInt(state.termAtMost);
        return state;
      },
    );
  }

  async reconfigure(options) {
    return this.#reconfigure(options, false);
  }

  async rehearse(options) {
    return this.#reconfigure(options, true);
  }

  #reconfigure({ former } = {}, rehearse) {
    return outcome(this.#native.reconfigure(former === undefined ? undefined : names(former), rehearse));
  }
}

module.exports = { Operator };
