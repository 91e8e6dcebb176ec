// The same declarations for `require`.

import leasehold = require('leasehold');
import testing = require('leasehold/testing');

const locks: leasehold.LockManager = leasehold.LockManager.memory(1);
const world: testing.World = new testing.World(1);
void world;
void locks.using('a', (lease) => lease.valid).finally(() => locks.close());
