'use strict';
// What is held.

const { countWaiting, giveUp, held, outcome } = require('./core.js');
const { LeaseLostError, fromFacts } = require('./errors.js');
const { millis, named } = require('./options.js');

// Node 20.0 to 20.3 lack the symbol; what compiles `await using` looks for it by this name.
if (Symbol.asyncDispose === undefined) {
  Object.defineProperty(Symbol, 'asyncDispose', { value: Symbol.for('nodejs.asyncDispose') });
}

class Lease {
  #native;
  #names;
  #release;
  #isOver = false;
  #controller;
  #watches = [];
  #lost;
  #loss;

  constructor(native, life) {
    this.#native = native;
    held.set(this, life);
    // Won in the moment of the end.
    if (life.closed !== undefined) this._close(life);
  }

  get name() {
    return this.names.join(', ');
  }

  get names() {
    return (this.#names ??= this.#native.names);
  }

  get owner() {
    return this.#native.owner;
  }

  get fencingToken() {
    return this.#native.token ?? undefined;
  }

  get remaining() {
    return this.#native.remaining;
  }

  get valid() {
    return this.#native.remaining > 0;
  }

  get state() {
    return this.#native.state;
  }

  get signal() {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      const loss = this._loss();
      // A signal keeps no process alive, and who waits for the loss does.
      if (loss === undefined) this.#watch(false);
      else this.#controller.abort(loss);
    }
    return this.#controller.signal;
  }

  lost() {
    this.#lost ??= this.#watch(true);
    return this.#lost;
  }

  heartbeat() {
    this.#native.heartbeat();
  }

  extend(options = {}) {
    return this.#busy(() => {
      named('the options of an extension', options, { ttl: 0 });
      return this.#native.extend(options.ttl === undefined ? undefined : millis('ttl', options.ttl));
    });
  }

  ensure(remaining) {
    return this.#busy(() => this.#native.ensure(millis('remaining', remaining)));
  }

  changed() {
    return this.#busy(() => this.#native.changed());
  }

  release() {
    this.#release ??= this.#isOver
      ? Promise.resolve({ is: 'released', message: 'it had been let go of before' })
      : this._end((native) => native.release()).then(released);
    return this.#release;
  }

  detach() {
    return this._end((native) => native.detach());
  }

  handOver() {
    return this._end((native) => native.handOver());
  }

  async [Symbol.asyncDispose]() {
    await this.release();
  }

  /** The loss, if it is one by now. */
  _loss() {
    if (this.#loss === undefined) {
      const { is, message, cause } = this.#native.state;
      if (is === 'lost') {
        this.#loss = fromFacts({ code: 'ERR_LEASEHOLD_LOST', message, cause, resource: this.name });
      }
    }
    return this.#loss;
  }

  _native() {
    return this.#native;
  }

  /** Its manager is closed, and waits for the nodes no longer than for its other releases. */
  _close(life) {
    let id;
    const ended = this._end((native) => (id = native.release())).then(released);
    this.#release = this.#givenBack(life, id, ended);
    // Who closes the manager is told what fails.
    this.#release.catch(() => {});
  }

  async #givenBack(life, id, ended) {
    // The manager gives back first, and says then until when it waits.
    await undefined;
    await life.closed;
    return giveUp(id) ? { is: 'unknown', message: 'the lock manager was closed before all nodes had answered' } : ended;
  }

  /** Ends the lease in this way, once. */
  async _end(way) {
    this.#isOver = true;
    held.delete(this);
    this.#unwatch();
    return await outcome(way(this.#native));
  }

  async #busy(start) {
    const id = start();
    try {
      return await outcome(id);
    } finally {
      this.#native.ended(id);
    }
  }

  #watch(isAwaited) {
    if (this.#isOver) return Promise.resolve(this._loss());
    const id = this.#native.lost();
    let finish;
    const released = new Promise((resolve) => {
      finish = resolve;
    });
    const lost = outcome(id, undefined, isAwaited).catch((loss) => {
      this.#loss ??= loss;
      this.#controller?.abort(this.#loss);
      return this.#loss;
    });
    this.#watches.push({ id, finish });
    return Promise.race([lost, released]);
  }

  #unwatch() {
    if (this.#watches.length === 0) return;
    // A loss that nobody has heard of yet is told before nobody can hear of it any more.
    const loss = this._loss();
    if (loss !== undefined) this.#controller?.abort(loss);
    for (const { id, finish } of this.#watches.splice(0)) {
      giveUp(id);
      finish(loss);
    }
  }
}

class WriteLease extends Lease {
  async downgrade() {
    const life = held.get(this);
    return new Lease(await this._end((native) => native.downgrade()), life);
  }
}

class Permit extends Lease {
  get slot() {
    return this._native().slot;
  }
}

class OnceTurn extends Lease {
  #next;

  get nextPeriod() {
    this.#next ??= this._native().nextPeriod;
    return new Date(this.#next);
  }

  done() {
    return this._end((native) => native.done());
  }
}

class Leadership extends Lease {
  get term() {
    return this.fencingToken;
  }

  get isLeader() {
    return this.valid;
  }

  resign() {
    return this.release();
  }
}

/** A lease that nobody extends: by its owner, in any process. */
class DetachedLease {
  #native;

  constructor(native) {
    this.#native = native;
  }

  get names() {
    return this.#native.names;
  }

  get owner() {
    return this.#native.owner;
  }

  async extend(ttl) {
    const id = this.#native.extend(millis('ttl', ttl));
    try {
      return await outcome(id);
    } finally {
      this.#native.ended(id);
    }
  }

  async release() {
    return released(await outcome(this.#native.release()));
  }
}

/** The usual outcome has no facts. */
function released(told) {
  return told === true ? { is: 'released' } : told;
}

/** Does the work while the lease lasts, and releases it in any case. */
async function holding(lease, work) {
  const { lost, ended } = await worked(lease, work);
  if (lost !== undefined) throw lost;
  return ended();
}

/** The same, and tells a loss of this lease apart from what the work threw. */
async function worked(lease, work) {
  let result;
  let failed = false;
  let error;
  // Somebody waits for the work, and the work perhaps for nothing but its signal.
  countWaiting(1);
  try {
    result = await work(lease, lease.signal);
  } catch (thrown) {
    failed = true;
    error = thrown;
  } finally {
    countWaiting(-1);
  }
  const loss = lease._loss();
  const released = await lease.release();
  if (loss !== undefined || wasOver(released)) {
    const isTheLoss = failed && loss !== undefined && loss === error;
    return { lost: isTheLoss ? error : lostWhile(lease, loss, released, failed ? error : undefined) };
  }
  return {
    ended() {
      if (failed) throw error;
      return result;
    },
  };
}

function wasOver(released) {
  return released?.is === 'already-expired' || released?.is === 'taken-by-another';
}

function lostWhile(lease, loss, released, error) {
  const message = loss?.message ?? `lost the lock ${JSON.stringify(lease.name)}: ${released.message}`;
  return new LeaseLostError(message, {
    code: 'ERR_LEASEHOLD_LOST',
    resource: lease.name,
    cause: loss?.reason ?? 'gone',
    holder: loss?.holder ?? released?.holder,
    error,
  });
}

module.exports = { DetachedLease, Leadership, Lease, OnceTurn, Permit, WriteLease, holding, worked };
