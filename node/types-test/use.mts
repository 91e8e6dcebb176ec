// Compiled strictly, and run: the declarations say what is there, and `await using` works.

import assert from 'node:assert/strict';
import {
  HeldError,
  LeaseLostError,
  LockManager,
  StaleError,
  UnreachableError,
  type AcquireOptions,
  type Inspection,
  type Lease,
  type ManagerEvent,
  type Permit,
} from 'leasehold';
import { Fence, RowFence, type Statement } from 'leasehold/fence';
import { World } from 'leasehold/testing';

const events: ManagerEvent[] = [];
await using locks = LockManager.memory(3, {
  defaults: { ttl: 5_000, label: 'types' },
  onEvent(event) {
    events.push(event);
    if (event.type === 'lost') assert.ok(event.cause.length > 0);
  },
});

const options: AcquireOptions = { timeout: 1_000, pause: [10, 20], maxHold: Infinity, renewEvery: false };
let owner: string;
{
  await using lease: Lease = await locks.acquire('orders/42', options);
  const token: bigint | undefined = lease.fencingToken;
  assert.equal(typeof token, 'bigint');
  owner = lease.owner;
  try {
    await locks.tryAcquire('orders/42');
    assert.fail('it is held');
  } catch (error) {
    assert.ok(error instanceof HeldError);
    const pid: number | undefined = error.holder?.pid;
    assert.equal(pid, process.pid);
    const remaining: number | undefined = error.remaining;
    assert.ok(remaining !== undefined && remaining > 0);
  }
}
const seen: Inspection = await locks.inspect('orders/42');
assert.equal(seen.isFree, true, `it was released at the end of the block; it was ${owner}'s`);

const length: number = await locks.using(['a', 'b'], async (lease, signal) => {
  signal.throwIfAborted();
  return lease.names.length;
});
assert.equal(length, 2);
const slot: number = await locks.semaphore('gpu', 2).using((permit: Permit) => permit.slot);
assert.ok(slot >= 0);
const done = await locks.oncePer('report', 60_000).run(() => 'text');
if (done.ran) assert.equal(done.result.length, 4);

const statement: Statement = new RowFence({ dialect: 'sqlite', table: 't', key: 'id', fence: 'f' }).update(
  1,
  { a: 2 },
  3n,
);
assert.equal(statement.values.length, 3);
assert.throws(() => new Fence(2n).admit(1n), StaleError);

const world = new World(3);
await using simulated = world.manager();
const lease = await simulated.acquire('a');
await world.lose('a');
const loss: LeaseLostError | undefined = await lease.lost();
assert.ok(loss instanceof LeaseLostError && loss.reason === 'gone');
world.node(0).down();
world.node(1).down();
const error: unknown = await simulated.tryAcquire('b').catch((thrown: unknown) => thrown);
assert.ok(error instanceof UnreachableError && error.nodes.length === 2);

// What must not compile.
// @ts-expect-error: no such option
void locks.acquire('a', { tll: 3 }).catch(() => {});
// @ts-expect-error: a token is a bigint
assert.throws(() => new Fence().admit(1));
console.log('types: all is as declared');
