import type { Holder } from './errors';
import type { DetachedLease, Leadership, Lease, OnceTurn, Permit, Released, WriteLease } from './lease';
import type { LeaseLostError } from './errors';
import type { Operator } from './operator';
import type { AcquireOptions, CommonOptions, LockOptions, ManagerOptions } from './options';

/** Work under a lease; `signal` aborts when the lease is lost. */
export type Work<L, T> = (lease: L, signal: AbortSignal) => T | PromiseLike<T>;

export interface HeldPermits {
  of: number;
  held: { slot: number; holder: Holder; remaining: number }[];
}

/** A lock on one node. */
export interface NodeKey {
  node: string;
  key: 'free' | 'held' | 'read' | 'permits' | 'foreign' | 'unknown';
  holder?: Holder;
  remaining?: number | null;
  permits?: HeldPermits;
  /** The type of a key that is no lock. */
  type?: string | null;
  message?: string;
  counter: number | null;
}

/** A lock, node by node, as it was a moment ago. */
export interface Inspection {
  message: string;
  resource: string;
  /** Whom a quorum names. */
  holder: Holder | null;
  remaining: number | null;
  isFree: boolean;
  isRead: boolean;
  /** Too few nodes answered. */
  isUnclear: boolean;
  otherType: string | null;
  quorum: number;
  tokenAtMost: number | null;
  permits: HeldPermits | null;
  nodes: NodeKey[];
}

export interface Eviction {
  before: Inspection;
  evicted: { holder: Holder; owner: string; outcome: Released }[];
}

export interface NodeHealth {
  node: string;
  connection: 'connecting' | 'up' | 'down';
  reason: string | null;
  clockSteps: number;
  message: string;
}

export interface ElectionState {
  is: 'led' | 'no-leader' | 'unknown';
  message: string;
  leader?: Holder;
  termAtMost?: bigint | null;
  remaining?: number | null;
}

/**
 * Locks on these nodes. Its work is done on a thread of its own, over connections of its own: make one, and use
 * it everywhere. It does not keep the process alive; what is held when the process ends is released (in about a
 * second at most), unless a signal ends it.
 */
export class LockManager implements AsyncDisposable {
  /**
   * Waits for nothing: nodes that are not there are told by the first lock that needs them. Throws
   * `ConfigError`.
   */
  constructor(options: ManagerOptions);
  /** Nodes in the memory of this process, for first steps and tests; 3 by default. */
  static memory(count?: number, options?: CommonOptions): LockManager;
  /** A folder, for the processes of this machine. A process that dies frees its locks at once. */
  static file(path: string, options?: CommonOptions): LockManager;
  /** The nodes of `LEASEHOLD_NODES`, or of the configuration file of the `leasehold` command. */
  static fromEnv(options?: CommonOptions): LockManager;
  /** The nodes of this configuration file: of its default cluster, or of `configCluster`. Reads no variables. */
  static fromConfig(path: string, options?: CommonOptions & { configCluster?: string }): LockManager;
  /** Their names. */
  readonly nodes: string[];
  health(): NodeHealth[];
  /**
   * Waits for the lock. Rejects with `HeldError`, `UnreachableError`, `AbstainedError`, `TooLateError`,
   * `DisagreementError`, `ClosedError`, `ConfigError`, or with the reason of `signal`.
   */
  acquire(name: string, options?: AcquireOptions): Promise<Lease>;
  /** One attempt. */
  tryAcquire(name: string, options?: Omit<AcquireOptions, 'timeout'>): Promise<Lease>;
  /** All of these names or none, up to 64, in any order: one lease. */
  acquireAll(names: Iterable<string>, options?: AcquireOptions): Promise<Lease>;
  tryAcquireAll(names: Iterable<string>, options?: Omit<AcquireOptions, 'timeout'>): Promise<Lease>;
  /**
   * Does the work while the lease lasts, and releases it in any case. Resolves with the work's result. Rejects
   * as `acquire` if there was no lock; with `LeaseLostError` if it was lost, once the work has ended (what the
   * work threw is its `cause`); else with what the work threw. Nobody can stop the work from outside: it asks
   * `lease.valid`, or hands `signal` on.
   */
  using<T>(name: string | Iterable<string>, work: Work<Lease, T>): Promise<T>;
  using<T>(name: string | Iterable<string>, options: AcquireOptions | undefined, work: Work<Lease, T>): Promise<T>;
  /** Many who read, or one who writes. */
  rwlock(name: string, options?: AcquireOptions): RwLock;
  /** So many at a time. */
  semaphore(name: string, permits: number, options?: AcquireOptions): Semaphore;
  /** One leader among many. */
  election(name: string, options?: AcquireOptions): Election;
  /**
   * Once in each period (milliseconds, from 1 000 to 30 days); periods begin at `starting` after full ones of
   * UTC.
   */
  oncePer(name: string, period: number, options?: AcquireOptions & { starting?: number }): OncePer;
  /** Who holds a lock, node by node. */
  inspect(name: string): Promise<Inspection>;
  /** Releases the lock of whoever holds it. The holder hears of it with its next extension. */
  forceRelease(name: string): Promise<Eviction>;
  /** Takes over what another process handed over. Rejects with `LeaseLostError` if it is gone. */
  adopt(text: string, options?: LockOptions): Promise<Lease>;
  /** A lease that was detached, by its owner. */
  detached(name: string, owner: string): DetachedLease;
  detachedAll(names: Iterable<string>, owner: string): DetachedLease;
  detachedShared(name: string, owner: string): DetachedLease;
  detachedPermit(name: string, owner: string): DetachedLease;
  /** What operators do with the nodes. */
  operator(): Operator;
  /**
   * Gives back what is still held, ends all waiting (`ClosedError`), and waits until releases are confirmed, for
   * about a second at most. Resolves with the number of releases that are not confirmed by all nodes.
   */
  close(): Promise<number | undefined>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Many who read, or one who writes, served in the order of their coming. */
export class RwLock {
  private constructor();
  readonly name: string;
  read(options?: AcquireOptions): Promise<Lease>;
  tryRead(options?: Omit<AcquireOptions, 'timeout'>): Promise<Lease>;
  write(options?: AcquireOptions): Promise<WriteLease>;
  tryWrite(options?: Omit<AcquireOptions, 'timeout'>): Promise<WriteLease>;
  usingRead<T>(work: Work<Lease, T>): Promise<T>;
  usingRead<T>(options: AcquireOptions | undefined, work: Work<Lease, T>): Promise<T>;
  usingWrite<T>(work: Work<WriteLease, T>): Promise<T>;
  usingWrite<T>(options: AcquireOptions | undefined, work: Work<WriteLease, T>): Promise<T>;
}

/** So many at a time, each with a number. All say the same number of permits. */
export class Semaphore {
  private constructor();
  readonly name: string;
  readonly permits: number;
  acquire(options?: AcquireOptions): Promise<Permit>;
  tryAcquire(options?: Omit<AcquireOptions, 'timeout'>): Promise<Permit>;
  using<T>(work: Work<Permit, T>): Promise<T>;
  using<T>(options: AcquireOptions | undefined, work: Work<Permit, T>): Promise<T>;
}

/** One leader among many, and who it is. */
export class Election {
  private constructor();
  readonly name: string;
  /** Waits until this candidate is elected: without a limit, unless there is a `timeout`. */
  campaign(options?: AcquireOptions): Promise<Leadership>;
  tryCampaign(options?: Omit<AcquireOptions, 'timeout'>): Promise<Leadership>;
  /** Leads until the work ends, and resigns. Rejects with `LeaseLostError` if the leadership was lost. */
  lead<T>(work: Work<Leadership, T>): Promise<T>;
  lead<T>(options: AcquireOptions | undefined, work: Work<Leadership, T>): Promise<T>;
  /**
   * The same, and campaigns again after each loss, until the work ends by itself. What `onLost` throws ends it.
   */
  leadRepeatedly<T>(work: Work<Leadership, T>): Promise<T>;
  leadRepeatedly<T>(
    options: (AcquireOptions & { onLost?: (lost: LeaseLostError) => void | Promise<void> }) | undefined,
    work: Work<Leadership, T>,
  ): Promise<T>;
  /** Who leads now. */
  leader(): Promise<ElectionState>;
  /** Who leads, now and as often as it changes: for showing, not for deciding. */
  observe(): AsyncIterableIterator<ElectionState> & AsyncDisposable;
}

/** Work that one process does, and nobody again before the next period. */
export class OncePer {
  private constructor();
  readonly name: string;
  readonly period: number;
  /** Waits for the turn. Rejects as `acquire`, and with `AlreadyDoneError`. */
  begin(options?: AcquireOptions): Promise<OnceTurn>;
  tryBegin(options?: Omit<AcquireOptions, 'timeout'>): Promise<OnceTurn>;
  /** Does the work, unless it was done in this period. If it throws, others may try. */
  run<T>(work: Work<OnceTurn, T>): Promise<Ran<T>>;
  run<T>(options: AcquireOptions | undefined, work: Work<OnceTurn, T>): Promise<Ran<T>>;
}

export type Ran<T> = { ran: true; result: T } | { ran: false; by?: Holder };

/**
 * A lock that is shared with older programs of `SETNX` and `GETSET`: whole seconds, one server, trust in all
 * wall clocks, no fencing tokens, and nobody extends it by itself.
 */
export class TimestampLock {
  /** `timeout`: `LOCK_TIMEOUT` of the other programs, 3 000 by default. `pause`: between tries, 10 by default. */
  constructor(url: string, name: string, options?: { timeout?: number; pause?: number });
  readonly name: string;
  /** `patience`: 10 000 by default. */
  acquire(options?: { patience?: number; signal?: AbortSignal }): Promise<TimestampLease>;
  tryAcquire(): Promise<TimestampLease>;
}

export class TimestampLease implements AsyncDisposable {
  private constructor();
  readonly name: string;
  /** What stands in the key. */
  readonly value: number;
  readonly remaining: number;
  readonly valid: boolean;
  extend(): Promise<void>;
  release(): Promise<{ is: string; message: string }>;
  [Symbol.asyncDispose](): Promise<void>;
}
