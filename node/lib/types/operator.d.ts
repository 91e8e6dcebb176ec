import type { ElectionState, Inspection } from './manager';

/** What one node said, or why nothing. */
export interface Told<T> {
  node: string;
  /** The node of the list whose place it has taken, if it is not on the list itself. */
  former: string | null;
  is: 'told' | 'needs-none' | 'cannot-be-listed' | 'silent';
  told: T | null;
  reason: string | null;
}

export interface Survey {
  message: string;
  identity: string;
  version: string;
  role: string;
  unsuitable: string | null;
  hasLog: boolean | null;
  abstains: { cause: string; left: number; message: string } | null;
  membership: 'nobodys' | 'ours' | 'others' | 'unfinished';
  configuration: string | null;
  largestCounter: number;
}

export interface Examination {
  /** Milliseconds. */
  roundTrip: number | null;
  /** By how much the node's clock is ahead of ours; milliseconds. */
  clockOffset: { by: number; uncertainty: number } | null;
  runId: string | null;
  others: string[];
  isProxied: boolean;
  version: string | null;
  role: string | null;
  uptime: number | null;
  replicas: number | null;
  memory: { used: number; limit: number | null; policy: string } | null;
  persistence: {
    hasLog: boolean | null;
    fsync: string | null;
    snapshots: string | null;
    failed: string | null;
  };
  /** Commands that the user lacks the right to. */
  lacking: string[] | null;
  lackingForFair: string[] | null;
  outOfReach: string | null;
  refusesWrites: string | null;
  survey: Survey | null;
  file: {
    path: string;
    used: number;
    room: number;
    holders: [pid: number, name: string][];
    unusable: string | null;
  } | null;
  /** Of a Redis Cluster: its masters, each with what it keeps. */
  cluster: {
    /** Those that were asked about, the first and the last. */
    slots: [from: number, to: number];
    shards: (Told<Examination> & { slots: [from: number, to: number][] })[];
  } | null;
}

export interface Admission {
  is: 'admitted' | 'disagrees' | 'not-new';
  message: string;
}

export interface Listing {
  nodes: Told<{ keys: number; hasMore: boolean }>[];
  locks: Inspection[];
  quorum: number;
}

export interface Reconfiguration {
  from: string[];
  to: string;
  quarantine: number;
  /** Whether one node takes the place of another: the others vote on, and locks go on. */
  goesOn: boolean;
  isComplete: boolean;
  /** When it is to be run again, in milliseconds from now. */
  waits: number | null;
  nodes: { node: string; is: 'would' | 'changed' | 'already' | 'waits' | 'missed'; message: string }[];
}

/** What operators do with the nodes, over connections of its own. Calls reject with `ConfigError`. */
export class Operator {
  private constructor();
  readonly quorum: number;
  /** Whether a node is a Redis Cluster, so that locks are plain. */
  readonly isPlain: boolean;
  /** The same, with a limit in milliseconds for each call to a node. */
  within(limit: number): Operator;
  /** The same, with a limit for each answer. */
  answerWithin(limit: number): Operator;
  /** The same; `examine` asks about the rights to this lock. */
  about(name: string): Operator;
  /** Who the nodes are, whether they vote, and for whom. */
  survey(): Promise<Told<Survey>[]>;
  /** Everything about the nodes that matters to locks. */
  examine(): Promise<Told<Examination>[]>;
  /** Only what matters to a vote. */
  examineVotes(): Promise<Told<Examination>[]>;
  /** Says that no node holds a lock that it may have forgotten: they vote at once. Say so only if it is true. */
  admit(): Promise<Told<Admission>[]>;
  /** The same for nodes that are new to leasehold. */
  admitNew(): Promise<Told<Admission>[]>;
  /** All locks whose name begins so. `most` names of each node; 10 000 by default. */
  list(prefix?: string, options?: { most?: number; hashes?: boolean; answerWithin?: number }): Promise<Listing>;
  /** One lock, on all nodes. */
  look(name: string): Promise<Inspection>;
  /** Waits until the lock is free, or for `timeout` milliseconds, and resolves with what was seen last. */
  untilFree(name: string, options?: { timeout?: number; signal?: AbortSignal }): Promise<Inspection>;
  /** Waits until one of so many permits is free. */
  untilPermit(
    name: string,
    permits: number,
    options?: { timeout?: number; signal?: AbortSignal },
  ): Promise<Inspection>;
  /** How a lock stands, as often as it changes. */
  lookOn(name: string): AsyncIterableIterator<Inspection> & AsyncDisposable;
  /** Who leads, as often as it changes. */
  observe(election: string): AsyncIterableIterator<ElectionState> & AsyncDisposable;
  /** Gives the nodes this configuration; `former` are the addresses in use until now, if they are others. */
  reconfigure(options?: { former?: string[] }): Promise<Reconfiguration>;
  /** What `reconfigure` would do. */
  rehearse(options?: { former?: string[] }): Promise<Reconfiguration>;
}
