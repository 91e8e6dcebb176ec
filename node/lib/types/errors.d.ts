/** Who holds a lock. */
export interface Holder {
  /** For people: `pid 4711 on app1`, or a label. */
  text: string;
  /** What signs its keys, for `detached`. */
  owner: string;
  host?: string;
  pid?: number;
  /** When its process began to want the lock, in milliseconds since 1970. */
  since?: number | null;
  label?: string | null;
}

/** Why one node gave no vote. */
export interface NodeFault {
  /** Its name: the address without password. */
  node: string;
  kind:
    | 'down'
    | 'busy'
    | 'abstained'
    | 'disagrees'
    | 'same-node'
    | 'superseded'
    | 'replaced'
    | 'clock-stepped'
    | 'unconfirmed'
    | 'rejected'
    | 'disconnected'
    | 'timed-out';
  message: string;
}

/** Why a lease was lost. */
export type LossReason =
  /** It was not extended in time. */
  | 'timed-out'
  /** Too many nodes do not have its keys any more. */
  | 'gone'
  /** The clock of a node was set forward. */
  | 'clock-stepped'
  /** `maxExtensions`. */
  | 'extension-limit'
  /** `maxHold`. */
  | 'hold-limit'
  /** `progressWithin`. */
  | 'no-progress'
  | 'released'
  | 'forked'
  | 'stopped';

/** All errors of this package. `message` names the lock, who, why and how long. */
export class LeaseholdError extends Error {
  /** `ERR_LEASEHOLD_…` */
  readonly code: string;
  /** The lock's name; several are separated by commas. */
  readonly resource?: string;
}

/** `ERR_LEASEHOLD_HELD`: somebody else has the lock, or comes first. Try again, or answer 423 or 409. */
export class HeldError extends LeaseholdError {
  /** Whom a quorum names, if it names one. Readers and permits have no names here. */
  readonly holder?: Holder;
  /** For how long at most, unless extended; milliseconds. */
  readonly remaining?: number;
  /** How many waiters of a fair lock come first. */
  readonly ahead?: number;
  readonly attempts?: number;
  /** Milliseconds. */
  readonly waited?: number;
  readonly heldOn: string[];
  /** Of a semaphore: how many permits there are, and how many are taken. */
  readonly permits?: { of: number; taken: number };
  readonly faults: NodeFault[];
  /** Whether `timeout` ended the wait. */
  readonly timedOut: boolean;
}

/** `ERR_LEASEHOLD_ALREADY_DONE`: somebody has done the work of this period. */
export class AlreadyDoneError extends LeaseholdError {
  readonly holder?: Holder;
  /** Until the next period begins; milliseconds. */
  readonly remaining?: number;
}

/** `ERR_LEASEHOLD_UNREACHABLE`: too few nodes answered. Answer 503. */
export class UnreachableError extends LeaseholdError {
  readonly faults: NodeFault[];
  /** The names of the nodes that did not vote. */
  readonly nodes: string[];
  readonly waited?: number;
  readonly timedOut: boolean;
}

/** `ERR_LEASEHOLD_ABSTAINED`: too many nodes are new or have restarted, and do not vote yet. Answer 503. */
export class AbstainedError extends LeaseholdError {
  readonly faults: NodeFault[];
  readonly nodes: string[];
  /** When they vote again, in milliseconds from now. */
  readonly retryAfter: number;
  readonly timedOut: boolean;
}

/** `ERR_LEASEHOLD_OTHER_PERMITS`: others share this name among another number of permits. */
export class OtherPermitsError extends LeaseholdError {
  readonly ours: number;
  readonly theirs: number;
  readonly remaining: number;
}

/** `ERR_LEASEHOLD_LOST`: the lease was lost. Somebody else may have the lock by now: stop. */
export class LeaseLostError extends LeaseholdError {
  readonly reason: LossReason;
  /** Who has it instead, if known. */
  readonly holder?: Holder;
}

/** `ERR_LEASEHOLD_STALE`: the resource has seen a newer token. */
export class StaleError extends LeaseholdError {
  readonly token: bigint;
  readonly newest?: bigint;
}

/** `ERR_LEASEHOLD_DISAGREEMENT`: the nodes are used with another configuration. Trying again does not help. */
export class DisagreementError extends LeaseholdError {}
/** `ERR_LEASEHOLD_TOO_LATE`: the vote took so long that nothing is left of the TTL. */
export class TooLateError extends LeaseholdError {}
/** `ERR_LEASEHOLD_RELEASED`: the lease was released before. */
export class ReleasedError extends LeaseholdError {}
/** `ERR_LEASEHOLD_CLOSED`: the manager was closed. */
export class ClosedError extends LeaseholdError {}
/** `ERR_LEASEHOLD_CONFIG`, or `ERR_LEASEHOLD_MALFORMED` for the text of a hand-over: names, options, addresses. */
export class ConfigError extends LeaseholdError {}
/** `ERR_LEASEHOLD_NOT_KEPT`: the work of a period is done, and the nodes could not be told. */
export class NotKeptError extends LeaseholdError {}
/**
 * `ERR_LEASEHOLD_LIMIT`: extended as often, or held as long, as it may be; `ERR_LEASEHOLD_TOO_SHORT`: see
 * `ensure`.
 */
export class LimitError extends LeaseholdError {}
/** `ERR_LEASEHOLD_RECONFIGURE`: the nodes could not be given another configuration. */
export class ReconfigureError extends LeaseholdError {
  readonly faults: NodeFault[];
}
