'use strict';
// Options: names and kinds are checked here, ranges by the library.

const { config } = require('./errors.js');

function shown(value) {
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
}

function millis(name, value) {
  if (typeof value !== 'number' || !(value >= 0)) {
    throw config(`the option ${name} is a number of milliseconds, and not ${shown(value)}`);
  }
  return value;
}

function whole(name, value) {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw config(`the option ${name} is a whole number from 0 to 4294967295, and not ${shown(value)}`);
  }
  return value;
}

function text(name, value) {
  if (typeof value !== 'string') throw config(`the option ${name} is a text, and not ${shown(value)}`);
  return value;
}

function flag(name, value) {
  if (typeof value !== 'boolean') throw config(`the option ${name} is true or false, and not ${shown(value)}`);
  return value;
}

function named(what, options, known) {
  if (options === null || typeof options !== 'object' || Array.isArray(options)) {
    throw config(`${what} are an object, and not ${shown(options)}`);
  }
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) {
      throw config(`there is no option ${shown(name)}; known are ${Object.keys(known).join(', ')}`);
    }
  }
}

const duration = (name) => (out, value) => {
  out[name] = millis(name, value);
};

/** Each option of a lock, and how it is handed over. */
const lock = {
  ttl: duration('ttl'),
  drift(out, value) {
    named('the options drift', value, { share: 0, fixed: 0 });
    const { share = 0.01, fixed = 2 } = value;
    if (typeof share !== 'number' || !(share >= 0 && share <= 1)) {
      throw config(`the option drift.share is a number from 0 to 1, and not ${shown(share)}`);
    }
    out.driftShare = Math.round(share * 1_000_000);
    out.driftFixed = millis('drift.fixed', fixed);
  },
  nodeLimit: duration('nodeLimit'),
  tries(out, value) {
    if (value === Infinity) out.triesUnlimited = true;
    else out.tries = whole('tries', value);
  },
  pause(out, value) {
    if (!Array.isArray(value) || value.length !== 2) {
      throw config(`the option pause is [least, most] in milliseconds, and not ${shown(value)}`);
    }
    out.pauseLeast = millis('pause', value[0]);
    out.pauseMost = millis('pause', value[1]);
  },
  giveUpUnreachableAfter: duration('giveUpUnreachableAfter'),
  renewEvery(out, value) {
    if (value === false) out.noRenewal = true;
    else out.renewEvery = millis('renewEvery', value);
  },
  maxHold(out, value) {
    if (value === Infinity) out.maxHoldUnlimited = true;
    else out.maxHold = millis('maxHold', value);
  },
  maxExtensions(out, value) {
    out.maxExtensions = whole('maxExtensions', value);
  },
  progressWithin: duration('progressWithin'),
  warnBefore: duration('warnBefore'),
  margin: duration('margin'),
  stepMargin: duration('stepMargin'),
  minHold: duration('minHold'),
  lockDelay: duration('lockDelay'),
  label(out, value) {
    if (value === false) out.noLabel = true;
    else out.label = text('label', value);
  },
  localQueue(out, value) {
    out.noLocalQueue = !flag('localQueue', value);
  },
  askAllAtOnce(out, value) {
    out.askAllAtOnce = flag('askAllAtOnce', value);
  },
  fair(out, value) {
    out.fair = flag('fair', value);
  },
};

/** The options of one call: those of the lock, and how long it waits. */
const call = {
  ...lock,
  timeout(out, value) {
    if (value === Infinity) out.triesUnlimited = true;
    else out.patience = millis('timeout', value);
  },
  signal(out, value) {
    if (!(value instanceof AbortSignal)) {
      throw config(`the option signal is an AbortSignal, and not ${shown(value)}`);
    }
    out.signal = value;
  },
};

const nothing = Object.freeze({ patience: undefined, signal: undefined, options: undefined });

function read(what, options, known) {
  named(what, options, known);
  const out = {};
  for (const [name, value] of Object.entries(options)) {
    if (value !== undefined) known[name](out, value);
  }
  return out;
}

/** Options of a lock, for the native half. */
function lockOptions(options, what = 'options of a lock') {
  return read(what, options, lock);
}

/** Options of a call: `{ patience, signal, options }`. */
function callOptions(options) {
  if (options === undefined) return nothing;
  const { patience, signal, ...rest } = read('options', options, call);
  signal?.throwIfAborted();
  return { patience, signal, options: Object.keys(rest).length === 0 ? undefined : rest };
}

/** What stands in `first` is changed by `second`. */
function merged(first, second) {
  if (first === undefined || second === undefined) return first ?? second;
  return { ...first, ...second };
}

const manager = {
  nodes(out, value) {
    if (!Array.isArray(value)) throw config(`the option nodes is a list of addresses, and not ${shown(value)}`);
    out.nodes = value.map((url) => text('nodes', url));
  },
  memory(out, value) {
    out.memory = whole('memory', value);
  },
  file(out, value) {
    out.file = text('file', value);
  },
  plain(out, value) {
    out.plain = flag('plain', value);
  },
  restartGuard(out, value) {
    out.restartGuard = text('restartGuard', value);
  },
  maxTtl: duration('maxTtl'),
  clockSkew: duration('clockSkew'),
  tolerateForgetful(out, value) {
    out.tolerateForgetful = whole('tolerateForgetful', value);
  },
  namespace(out, value) {
    out.namespace = text('namespace', value);
  },
  cluster(out, value) {
    out.cluster = text('cluster', value);
  },
  keyFormat(out, value) {
    out.keyFormat = text('keyFormat', value);
  },
  replicated(out, value) {
    named('the options replicated', value, { replicas: 0, within: 0 });
    out.replicas = whole('replicated.replicas', value.replicas);
    out.replicasWithin = millis('replicated.within', value.within);
  },
  onDisk(out, value) {
    named('the options onDisk', value, { disks: 0, within: 0 });
    out.disks = text('onDisk.disks', value.disks);
    out.disksWithin = millis('onDisk.within', value.within);
  },
  defaults(out, value) {
    out.defaults = lockOptions(value, 'the default options');
  },
  onEvent(out, value) {
    if (typeof value !== 'function') throw config(`the option onEvent is a function, and not ${shown(value)}`);
    out.onEvent = value;
  },
  events(out, value) {
    if (value !== 'locks' && value !== 'all') {
      throw config(`the option events is "locks" or "all", and not ${shown(value)}`);
    }
    out.events = value;
  },
};

/** Options of a manager: `{ config, onEvent }`. */
function managerOptions(options) {
  const { onEvent, events, ...rest } = read('options of a manager', options, manager);
  if (onEvent !== undefined) rest.events = events ?? 'locks';
  return { config: rest, onEvent };
}

function name(value) {
  if (typeof value !== 'string') throw config(`a lock's name is a text, and not ${shown(value)}`);
  return value;
}

function names(values) {
  if (typeof values === 'string' || typeof values?.[Symbol.iterator] !== 'function') {
    throw config(`several locks are named by a list, and not by ${shown(values)}`);
  }
  return Array.from(values, name);
}

module.exports = { callOptions, lockOptions, managerOptions, merged, millis, name, named, names, shown, text, whole };
