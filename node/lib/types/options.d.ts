import type { ManagerEvent } from './events';

/** How a lock behaves. All durations are milliseconds. */
export interface LockOptions {
  /**
   * How long the nodes keep the lock if nobody extends it: what others wait if this process dies. 10 ms to 30
   * days, and to `maxTtl` on servers. 10 000 by default.
   */
  ttl?: number;
  /**
   * What is taken off the TTL because clocks do not run alike: a share of it (0.01 by default) and a fixed time
   * (2).
   */
  drift?: { share?: number; fixed?: number };
  /** How long one node may take to answer. 5 % of the TTL by default, at least 20, at most 500. */
  nodeLimit?: number;
  /**
   * How often an acquisition without `timeout` tries; 32 by default, which is about 5 seconds. `Infinity` for
   * ever.
   */
  tries?: number;
  /** `[least, most]`: how long to rest between tries, at random. `[50, 250]` by default. */
  pause?: [least: number, most: number];
  /**
   * Give up once too few nodes have answered for this long, whatever time is left; 0: at the first attempt. Off
   * by default.
   */
  giveUpUnreachableAfter?: number;
  /** How often the lease is extended by itself: every third of the TTL by default. `false`: not at all. */
  renewEvery?: number | false;
  /** For how long the lock is held at most; then the lease is lost. A day by default; `Infinity` for no limit. */
  maxHold?: number;
  /** How many extensions there are at most. No limit by default. */
  maxExtensions?: number;
  /** The lease is extended only if `heartbeat()` was called within this time. Off by default. */
  progressWithin?: number;
  /** How much validity is left when the lease is told to be in danger. A third of the TTL by default. */
  warnBefore?: number;
  /** How much earlier than necessary a loss is told. 5 by default, at most a quarter of the validity. */
  margin?: number;
  /** By how much the clock of a node may be set forward without costing the lease anything. 0 by default. */
  stepMargin?: number;
  /** For how long the name stays locked at least, also if it is released sooner. 0 by default. */
  minHold?: number;
  /** For how long the name stays locked after a lease whose time ran out. 0 by default. */
  lockDelay?: number;
  /** What others are told of the holder, beside host and process. `false`: nothing at all, not even those. */
  label?: string | false;
  /** Whether callers of this manager wait for each other before they ask the nodes. True by default. */
  localQueue?: boolean;
  /** Ask all nodes at once, also where others want the lock too. False by default. */
  askAllAtOnce?: boolean;
  /** Waiters are served first come, first served, in whichever process they are. False by default. */
  fair?: boolean;
}

/** Options of one acquisition. */
export interface AcquireOptions extends LockOptions {
  /**
   * How long to wait at most, in milliseconds. 0: one attempt. `Infinity`: until it is won. By default as often
   * as `tries` says, which is about 5 seconds, or longer for nodes that do not vote yet.
   */
  timeout?: number;
  /** Gives up when it aborts. The promise rejects with the signal's reason, and nothing stays locked. */
  signal?: AbortSignal;
}

/** What all who use the same nodes must agree on, and the defaults of locks. */
export interface CommonOptions {
  /**
   * Bare Redlock keys, shared with other libraries: no fencing tokens, readers, permits or periods. False by
   * default.
   */
  plain?: boolean;
  /**
   * What happens when a node may have forgotten votes. `'quarantine'` by default: it does not vote for a while.
   */
  restartGuard?: 'quarantine' | 'trust-aof' | 'off';
  /** How long the TTL of any lock on servers may be; 30 000 by default. */
  maxTtl?: number;
  /** By how much wall clocks may differ; 2 000 by default. */
  clockSkew?: number;
  /** Locks are safe even if so many nodes forget votes at the wrong moment. 0 by default. */
  tolerateForgetful?: number;
  /** Under which name nodes keep what they know of themselves: `'leasehold'` by default. */
  namespace?: string;
  /** What the set of nodes is called, for clients that reach the same nodes under different addresses. */
  cluster?: string;
  /**
   * A pattern with `{}` for the lock's name, or `'raw'`, `'pottery'`, `'php-lock-2'`, `'php-lock-3'`, `'python-
   * redis-lock'`.
   */
  keyFormat?: string;
  /** Votes count only when so many replicas have heard of them, for which a server waits `within` milliseconds. */
  replicated?: { replicas: number; within: number };
  /** Votes count only when they are on these disks: `'server'`, `'1'` (a replica's), or `'server+1'`. */
  onDisk?: { disks: string; within: number };
  /** Options of all locks that do not say otherwise. */
  defaults?: LockOptions;
  /** Told what the manager does and notices, some time later, by the event loop. What it throws is uncaught. */
  onEvent?: (event: ManagerEvent) => void;
  /** Which events: `'locks'` by default, without the requests to nodes, of which there are many; or `'all'`. */
  events?: 'locks' | 'all';
}

/** Options of a manager: at least one kind of nodes. */
export interface ManagerOptions extends CommonOptions {
  /** Redis or Valkey servers: `redis://`, `rediss://`, `unix://`, `redis+sentinel://`, or `host:port`. */
  nodes?: string[];
  /** So many nodes in the memory of this process, of which no other manager knows. */
  memory?: number;
  /** A store in this folder, for the processes of this machine. Made if it is not there. */
  file?: string;
}
