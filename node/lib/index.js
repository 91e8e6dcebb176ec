'use strict';
// The package, for `require`. `index.mjs` names the same for `import`.

const errors = require('./errors.js');
const { DetachedLease, Leadership, Lease, OnceTurn, Permit, WriteLease } = require('./lease.js');
const { Election, LockManager, OncePer, RwLock, Semaphore } = require('./manager.js');
const { Operator } = require('./operator.js');
const { TimestampLease, TimestampLock } = require('./timestamp.js');

const { checked, config, fromFacts, ...classes } = errors;

module.exports = {
  DetachedLease,
  Election,
  Leadership,
  Lease,
  LockManager,
  OncePer,
  OnceTurn,
  Operator,
  Permit,
  RwLock,
  Semaphore,
  TimestampLease,
  TimestampLock,
  WriteLease,
  ...classes,
};
