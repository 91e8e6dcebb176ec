'use strict';
// Errors by what the caller can do. The sentence is the library's own.

class LeaseholdError extends Error {
  constructor(message, facts = {}) {
    super(message, facts.error === undefined ? undefined : { cause: facts.error });
    this.code = facts.code ?? 'ERR_LEASEHOLD';
    if (facts.resource !== undefined) this.resource = facts.resource;
  }

  get name() {
    return this.constructor.name;
  }
}

class HeldError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.holder = facts.holder ?? undefined;
    this.remaining = facts.remaining ?? undefined;
    this.ahead = facts.ahead ?? undefined;
    this.attempts = facts.attempts ?? undefined;
    this.waited = facts.waited ?? undefined;
    this.heldOn = facts.heldOn ?? [];
    this.permits = facts.permits ?? undefined;
    this.faults = facts.faults ?? [];
    this.timedOut = facts.timedOut ?? false;
  }
}

class AlreadyDoneError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.holder = facts.holder ?? undefined;
    this.remaining = facts.remaining ?? undefined;
  }
}

class UnreachableError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.faults = facts.faults ?? [];
    this.nodes = this.faults.map((fault) => fault.node);
    this.waited = facts.waited ?? undefined;
    this.timedOut = facts.timedOut ?? false;
  }
}

class AbstainedError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.faults = facts.faults ?? [];
    this.nodes = this.faults.map((fault) => fault.node);
    this.retryAfter = facts.retryAfter;
    this.timedOut = facts.timedOut ?? false;
  }
}

class OtherPermitsError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.ours = facts.ours;
    this.theirs = facts.theirs;
    this.remaining = facts.remaining;
  }
}

class LeaseLostError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.reason = facts.cause ?? 'timed-out';
    this.holder = facts.holder ?? undefined;
  }
}

class StaleError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.token = facts.token;
    this.newest = facts.newest;
  }
}

class DisagreementError extends LeaseholdError {}
class TooLateError extends LeaseholdError {}
class ReleasedError extends LeaseholdError {}
class ClosedError extends LeaseholdError {}
class ConfigError extends LeaseholdError {}
class NotKeptError extends LeaseholdError {}
class LimitError extends LeaseholdError {}
class ReconfigureError extends LeaseholdError {
  constructor(message, facts) {
    super(message, facts);
    this.faults = facts.faults ?? [];
  }
}

const classes = {
  ERR_LEASEHOLD_HELD: HeldError,
  ERR_LEASEHOLD_ALREADY_DONE: AlreadyDoneError,
  ERR_LEASEHOLD_UNREACHABLE: UnreachableError,
  ERR_LEASEHOLD_ABSTAINED: AbstainedError,
  ERR_LEASEHOLD_DISAGREEMENT: DisagreementError,
  ERR_LEASEHOLD_OTHER_PERMITS: OtherPermitsError,
  ERR_LEASEHOLD_TOO_LATE: TooLateError,
  ERR_LEASEHOLD_TOO_SHORT: LimitError,
  ERR_LEASEHOLD_LIMIT: LimitError,
  ERR_LEASEHOLD_LOST: LeaseLostError,
  ERR_LEASEHOLD_RELEASED: ReleasedError,
  ERR_LEASEHOLD_CLOSED: ClosedError,
  ERR_LEASEHOLD_CONFIG: ConfigError,
  ERR_LEASEHOLD_MALFORMED: ConfigError,
  ERR_LEASEHOLD_NOT_KEPT: NotKeptError,
  ERR_LEASEHOLD_RECONFIGURE: ReconfigureError,
  ERR_LEASEHOLD_STALE: StaleError,
};

/** The error of what the native half tells. */
function fromFacts(facts) {
  const Class = classes[facts.code] ?? LeaseholdError;
  return new Class(facts.message, facts);
}

/** Calls the native half, and throws errors of the right class. */
function checked(work) {
  try {
    return work();
  } catch (error) {
    if (typeof error?.code !== 'string' || error instanceof LeaseholdError) throw error;
    // What is of another kind than it should be is told by the bindings, in words of their own.
    const code = error.code.startsWith('ERR_LEASEHOLD_') ? error.code : 'ERR_LEASEHOLD_CONFIG';
    throw fromFacts({ code, message: error.message });
  }
}

function config(message) {
  return new ConfigError(message, { code: 'ERR_LEASEHOLD_CONFIG' });
}

module.exports = {
  AbstainedError,
  AlreadyDoneError,
  ClosedError,
  ConfigError,
  DisagreementError,
  HeldError,
  LeaseholdError,
  LeaseLostError,
  LimitError,
  NotKeptError,
  OtherPermitsError,
  ReconfigureError,
  ReleasedError,
  StaleError,
  TooLateError,
  UnreachableError,
  checked,
  config,
  fromFacts,
};
