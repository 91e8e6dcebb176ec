'use strict';
// Managers, and the kinds of locks.

const { core, countWaiting, enlist, held, outcome, native: addon } = require('./core.js');
const { checked, config } = require('./errors.js');
const { DetachedLease, Leadership, Lease, OnceTurn, Permit, WriteLease, holding, worked } = require('./lease.js');
const { Operator } = require('./operator.js');
const {
  callOptions,
  lockOptions,
  managerOptions,
  merged,
  millis,
  name,
  names,
  shown,
  text,
  whole,
} = require('./options.js');
const { stream } = require('./stream.js');

/** How a manager is made by the files beside this one. */
const start = Symbol('start');

class LockManager {
  #native;
  /** Leases are given it, and see whether their manager is closed. */
  #life = { closed: undefined };
  #dismiss;

  constructor(options = {}) {
    const { config: wanted, onEvent } = managerOptions(options);
    const { manager, dismiss } = checked(() =>
      enlist(options[start] ? (of) => options[start](wanted, of) : (of) => core.manager(wanted, of), onEvent),
    );
    this.#native = manager;
    this.#dismiss = dismiss;
  }

  static memory(count = 3, options = {}) {
    return new LockManager({ ...options, memory: count });
  }

  static file(path, options = {}) {
    return new LockManager({ ...options, file: path });
  }

  static fromEnv(options = {}) {
    return made(options, { fromEnv: true });
  }

  static fromConfig(path, options = {}) {
    const { configCluster, ...rest } = options;
    const of = configCluster === undefined ? {} : { configCluster: text('configCluster', configCluster) };
    return made(rest, { fromConfig: text('path', path), ...of });
  }

  get nodes() {
    return this.#native.nodes;
  }

  health() {
    return this.#native.health();
  }

  async acquire(of, options) {
    const { patience, signal, options: changed } = callOptions(options);
    const id = checked(() => this.#native.acquire(name(of), patience, changed));
    return new Lease(await outcome(id, signal), this.#life);
  }

  tryAcquire(of, options) {
    return this.acquire(of, { ...options, timeout: 0 });
  }

  async acquireAll(of, options) {
    const { patience, signal, options: changed } = callOptions(options);
    const id = checked(() => this.#native.acquireAll(names(of), patience, changed));
    return new Lease(await outcome(id, signal), this.#life);
  }

  tryAcquireAll(of, options) {
    return this.acquireAll(of, { ...options, timeout: 0 });
  }

  async using(of, ...rest) {
    const { options, work } = working(rest);
    const lease = typeof of === 'string' ? this.acquire(of, options) : this.acquireAll(of, options);
    return holding(await lease, work);
  }

  rwlock(of, options) {
    return new RwLock(this.#native, this.#life, name(of), options);
  }

  semaphore(of, permits, options) {
    return new Semaphore(this.#native, this.#life, name(of), whole('permits', permits), options);
  }

  election(of, options) {
    return new Election(this.#native, this.#life, name(of), options);
  }

  oncePer(of, period, options) {
    return new OncePer(this.#native, this.#life, name(of), millis('period', period), options);
  }

  inspect(of) {
    return begin(() => this.#native.inspect(name(of)));
  }

  forceRelease(of) {
    return begin(() => this.#native.forceRelease(name(of)));
  }

  async adopt(handedOver, options) {
    const changed = options === undefined ? undefined : lockOptions(options);
    const id = checked(() => this.#native.adopt(text('text', handedOver), changed));
    return new Lease(await outcome(id), this.#life);
  }

  detached(of, owner) {
    return this.#detached('exclusive', [name(of)], owner);
  }

  detachedAll(of, owner) {
    return this.#detached('exclusive', names(of), owner);
  }

  detachedShared(of, owner) {
    return this.#detached('shared', [name(of)], owner);
  }

  detachedPermit(of, owner) {
    return this.#detached('permit', [name(of)], owner);
  }

  #detached(kind, of, owner) {
    return new DetachedLease(checked(() => this.#native.detached(kind, of, text('owner', owner))));
  }

  operator() {
    return new Operator(checked(() => this.#native.operator()));
  }

  close() {
    this.#life.closed ??= this.#close();
    return this.#life.closed;
  }

  async #close() {
    // What waits ends first: it would win what is given back.
    const ended = outcome(this.#native.close());
    for (const [lease, life] of held) {
      if (life === this.#life) lease._close(life);
    }
    const [, unconfirmed] = await Promise.all([ended, outcome(this.#native.close())]);
    this.#dismiss();
    return unconfirmed;
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

/** A manager whose nodes are named elsewhere. */
function made(options, more) {
  return new LockManager({ ...options, [start]: (wanted, of) => core.manager({ ...wanted, ...more }, of) });
}

/** A call whose words are checked as those of all others: what is wrong rejects. */
async function begin(work, signal) {
  return outcome(checked(work), signal);
}

/** `[options, work]`, or `[work]`. */
function working(rest) {
  const work = rest.at(-1);
  if (typeof work !== 'function' || rest.length > 2) {
    throw config(`the work is a function, after the options if there are any, and not ${shown(work)}`);
  }
  return { work, options: rest.length === 2 ? rest[0] : undefined };
}

class Named {
  constructor(native, life, of, options) {
    this._native = native;
    this._life = life;
    this._options = options;
    Object.defineProperty(this, 'name', { value: of, enumerable: true });
    // What is wrong with the options is told at once.
    callOptions(options);
  }

  /** Options of this lock, and of this call. */
  _begin(options, work) {
    const { patience, signal, options: changed } = callOptions(merged(this._options, options));
    return begin(() => work(patience, changed), signal);
  }
}

class RwLock extends Named {
  async read(options) {
    const lease = await this._begin(options, (...how) => this._native.share(this.name, false, ...how));
    return new Lease(lease, this._life);
  }

  async write(options) {
    const lease = await this._begin(options, (...how) => this._native.share(this.name, true, ...how));
    return new WriteLease(lease, this._life);
  }

  tryRead(options) {
    return this.read({ ...options, timeout: 0 });
  }

  tryWrite(options) {
    return this.write({ ...options, timeout: 0 });
  }

  async usingRead(...rest) {
    const { options, work } = working(rest);
    return holding(await this.read(options), work);
  }

  async usingWrite(...rest) {
    const { options, work } = working(rest);
    return holding(await this.write(options), work);
  }
}

class Semaphore extends Named {
  constructor(native, life, of, permits, options) {
    super(native, life, of, options);
    this.permits = permits;
  }

  async acquire(options) {
    const lease = await this._begin(options, (...how) => this._native.permit(this.name, this.permits, ...how));
    return new Permit(lease, this._life);
  }

  tryAcquire(options) {
    return this.acquire({ ...options, timeout: 0 });
  }

  async using(...rest) {
    const { options, work } = working(rest);
    return holding(await this.acquire(options), work);
  }
}

class Election extends Named {
  async campaign(options) {
    const lease = await this._begin(options, (...how) => this._native.campaign(this.name, ...how));
    return new Leadership(lease, this._life);
  }

  tryCampaign(options) {
    return this.campaign({ ...options, timeout: 0 });
  }

  async lead(...rest) {
    const { options, work } = working(rest);
    return holding(await this.campaign(options), work);
  }

  async leadRepeatedly(...rest) {
    const { options, work } = working(rest);
    const { onLost, ...how } = options ?? {};
    for (;;) {
      // Of another lock, a loss is an error of the work.
      const { lost, ended } = await worked(await this.campaign(how), work);
      if (lost === undefined) return ended();
      await onLost?.(lost);
    }
  }

  async leader() {
    return led(await begin(() => this._native.leader(this.name)));
  }

  observe() {
    return stream(
      checked(() => this._native.observeElection(this.name)),
      led,
    );
  }
}

/** Terms are tokens, and those are no numbers. */
function led(state) {
  if (state.termAtMost != null) state.termAtMost = BigInt(state.termAtMost);
  return state;
}

class OncePer extends Named {
  #starting;

  constructor(native, life, of, period, options = {}) {
    const { starting = 0, ...rest } = options;
    super(native, life, of, rest);
    this.period = period;
    this.#starting = millis('starting', starting);
  }

  async begin(options) {
    const lease = await this._begin(options, (...how) =>
      this._native.beginOnce(this.name, this.period, this.#starting, ...how),
    );
    return new OnceTurn(lease, this._life);
  }

  tryBegin(options) {
    return this.begin({ ...options, timeout: 0 });
  }

  async run(...rest) {
    const { options, work } = working(rest);
    let turn;
    try {
      turn = await this.begin(options);
    } catch (error) {
      if (error?.code === 'ERR_LEASEHOLD_ALREADY_DONE') return { ran: false, by: error.holder };
      throw error;
    }
    let result;
    countWaiting(1);
    try {
      result = await work(turn, turn.signal);
    } catch (error) {
      await turn.release();
      throw error;
    } finally {
      countWaiting(-1);
    }
    await turn.done();
    return { ran: true, result };
  }
}

module.exports = { Election, LockManager, OncePer, RwLock, Semaphore, addon, led, start };
