'use strict';
// Calls that wait: a number from the native half becomes a promise.

const native = require('./native.js');
const { fromFacts } = require('./errors.js');

/** Calls under way, by their number. */
const pending = new Map();
/** What is held, and the life of its manager. Strong: a lease lives until it is released, and not until it is
 * collected, which could be in the middle of the work. */
const held = new Map();
/** Managers that are not closed, for the end of the process; and their listeners, by number. */
const managers = new Set();
const listeners = new Map();

let awaited = 0;
// The bell of the native half keeps no event loop alive; a call that is awaited must.
const wakefulness = setInterval(() => {}, 0x7fffffff);
wakefulness.unref();

const core = new native.Core(turn);

/** Called by the event loop when the native half has something. */
function turn() {
  const [settled, events, missed] = core.turn();
  for (const outcome of settled) settle(outcome);
  for (const event of events) tell(event);
  if (missed > 0) {
    for (const listener of listeners.values()) report(listener, { type: 'missed', events: missed });
  }
}

function settle([id, failure, value, lease]) {
  const call = pending.get(id);
  if (call === undefined) {
    // Aborted in the very moment of the win: nobody has it.
    lease?.abandon();
    return;
  }
  forget(id, call);
  if (failure != null) call.reject(fromFacts(failure));
  else call.resolve(lease ?? value ?? undefined);
}

function forget(id, call) {
  pending.delete(id);
  call.signal?.removeEventListener('abort', call.onAbort);
  if (call.isAwaited) countWaiting(-1);
}

/** Counts who waits: meanwhile the process stays alive. */
function countWaiting(more) {
  const before = awaited;
  awaited += more;
  if (before === 0) wakefulness.ref();
  else if (awaited === 0) wakefulness.unref();
}

/**
 * A promise for the call of this number. If `signal` aborts, the call is given up, and rejects with the signal's
 * reason; what was won in that moment is released.
 */
function outcome(id, signal, isAwaited = true) {
  return new Promise((resolve, reject) => {
    const call = { resolve, reject, signal, isAwaited, onAbort: undefined };
    pending.set(id, call);
    if (isAwaited) countWaiting(1);
    if (signal === undefined) return;
    call.onAbort = () => {
      forget(id, call);
      core.cancel(id);
      reject(signal.reason);
    };
    signal.addEventListener('abort', call.onAbort);
  });
}

/** Gives up a call that nobody awaits any more. False if it has ended. */
function giveUp(id) {
  const call = pending.get(id);
  if (call === undefined) return false;
  forget(id, call);
  core.cancel(id);
  return true;
}

function tell({ manager, ...event }) {
  const listener = listeners.get(manager);
  if (listener === undefined) return;
  if (typeof event.fencingToken === 'number') event.fencingToken = BigInt(event.fencingToken);
  report(listener, event);
}

function report(listener, event) {
  try {
    listener(event);
  } catch (error) {
    // A listener's error is nobody's but its own, and must not stop others from being told.
    process.nextTick(() => {
      throw error;
    });
  }
}

let number = 0;
let isWatched = false;

/** Makes a manager known, by `start`, which is given its number. */
function enlist(start, listener) {
  number += 1;
  const of = number;
  const manager = start(of);
  const reference = new WeakRef(manager);
  managers.add(reference);
  if (listener !== undefined) listeners.set(of, listener);
  if (!isWatched) {
    isWatched = true;
    process.on('exit', farewell);
  }
  const dismiss = () => {
    managers.delete(reference);
    listeners.delete(of);
  };
  collected.register(manager, dismiss);
  return { manager, dismiss };
}

const collected = new FinalizationRegistry((dismiss) => dismiss());

/**
 * At the end of the process, or of the worker: no event loop turns any more, so this blocks, for about a second
 * at most.
 */
function farewell() {
  for (const lease of held.keys()) lease._native().abandon();
  held.clear();
  for (const reference of managers) reference.deref()?.farewell();
}

module.exports = { core, countWaiting, enlist, giveUp, held, native, outcome, turn };
