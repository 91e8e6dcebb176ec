import type { Holder, LeaseLostError, LossReason, NodeFault } from './errors';

/** How a release ended. */
export interface Released {
  is: 'released' | 'already-expired' | 'taken-by-another' | 'unknown';
  message?: string;
  holder?: Holder;
  faults?: NodeFault[];
}

/** How a lease stands. */
export interface LeaseState {
  is: 'held' | 'in-danger' | 'lost' | 'released';
  message: string;
  remaining?: number;
  cause?: LossReason;
  faults?: NodeFault[];
}

/**
 * A lock that is held. The package extends it on a thread of its own, also while the event loop is blocked,
 * until it is released. It does not keep the process alive. It is not given back when it is garbage: release it,
 * by `using`, `await using` or `release()`; or else it is held until the process ends, for a day at most
 * (`maxHold`).
 */
export class Lease implements AsyncDisposable {
  protected constructor();
  /** The lock's name; several are separated by commas. */
  readonly name: string;
  readonly names: string[];
  /** What signs the keys, for `detached`. */
  readonly owner: string;
  /** Larger for every later holder; undefined for readers and plain locks. */
  readonly fencingToken: bigint | undefined;
  /** Whether it is held at this moment, by the clock: never true when its time is over. Asks nobody. */
  readonly valid: boolean;
  /** For how long it is valid unless extended, in milliseconds; 0 when it is over. Asks nobody. */
  readonly remaining: number;
  readonly state: LeaseState;
  /**
   * Aborts with a {@link LeaseLostError} when the lease is lost, before anybody else can have the lock if the
   * event loop turns in time. A release does not abort it.
   */
  readonly signal: AbortSignal;
  /**
   * Resolves with the loss, or with undefined at a release. Keeps the process alive meanwhile, as `signal` does
   * not.
   */
  lost(): Promise<LeaseLostError | undefined>;
  /** Progress, for `progressWithin`. */
  heartbeat(): void;
  /**
   * Extends it now, by the TTL or by another one, and resolves with the milliseconds that it is valid then.
   * Waits for a quorum, for the node limit at most. Rejects with `LeaseLostError`, `UnreachableError` (still
   * held for a while), `LimitError`, `ReleasedError`, `ClosedError`, `ConfigError`.
   */
  extend(options?: { ttl?: number }): Promise<number>;
  /** Extends it if less than this is left. Rejects as `extend`, and with `LimitError` if the TTL is shorter. */
  ensure(remaining: number): Promise<void>;
  /** Waits until its state changes. */
  changed(): Promise<LeaseState>;
  /**
   * Gives the lock back. Never rejects for the nodes' sake: the outcome says what is known. Again: the same
   * outcome.
   */
  release(): Promise<Released>;
  /**
   * Lets go of it without a release, and resolves with its owner, for `manager.detached`. Rejects with
   * `LeaseLostError`.
   */
  detach(): Promise<string>;
  /**
   * Lets go of it, and resolves with a text for `manager.adopt` in another process. Rejects with
   * `LeaseLostError`.
   */
  handOver(): Promise<string>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** A lock that is held for writing. */
export class WriteLease extends Lease {
  /** Goes on as a reader, with no writer in between. If it fails, nothing is held. */
  downgrade(): Promise<Lease>;
}

/** One of so many permits. */
export class Permit extends Lease {
  /** A number from 0 that nobody else has meanwhile. */
  readonly slot: number;
}

/** The turn to do the work of a period. */
export class OnceTurn extends Lease {
  /** When the next period begins. */
  readonly nextPeriod: Date;
  /**
   * The work is done: nobody does it again in this period. Rejects with `NotKeptError` if no quorum could be
   * told.
   */
  done(): Promise<void>;
}

/** The lock of an election, held by its leader. */
export class Leadership extends Lease {
  /** The fencing token: larger for every later leader. Undefined for plain locks. */
  readonly term: bigint | undefined;
  readonly isLeader: boolean;
  resign(): Promise<Released>;
}

/** A lease that nobody extends by itself: of this owner, in whichever process it was won. */
export class DetachedLease {
  private constructor();
  readonly names: string[];
  readonly owner: string;
  /** Extends it, and resolves with the milliseconds that it is valid then. */
  extend(ttl: number): Promise<number>;
  release(): Promise<Released>;
}
