// The world for tests of others: nodes that break, and time that is told.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, HeldError, LeaseLostError, UnreachableError } from 'leasehold';
import { World } from 'leasehold/testing';

test('leases extend themselves while time passes, on two of three nodes', async (t) => {
  const world = new World(3);
  const locks = world.manager();
  t.after(() => locks.close());
  const lease = await locks.acquire('orders/42');
  assert.equal(world.holder('orders/42'), lease.owner);
  world.node(0).down('no route');
  await world.advance(3_600_000);
  assert.equal(lease.valid, true);
  assert.equal(lease.signal.aborted, false);
});

test('a job is told of its loss', async (t) => {
  const world = new World();
  const locks = world.manager();
  t.after(() => locks.close());
  const job = locks.using('report', async (lease, signal) => {
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    assert.equal(lease.valid, false);
    throw signal.reason;
  });
  const told = assert.rejects(job, (error) => error instanceof LeaseLostError && error.reason === 'gone');
  const owner = await world.untilHeld('report');
  assert.match(owner, /^[0-9a-f]{40}\./);
  await world.lose('report');
  await told;
  assert.equal(world.holder('report'), undefined);
});

test('without a quorum the loss is told before the keys are gone', async (t) => {
  const world = new World(3);
  const locks = world.manager();
  t.after(() => locks.close());
  const lease = await locks.acquire('a');
  const { signal } = lease;
  world.node(0).hang();
  world.node(1).hang();
  await world.advance(8_000);
  assert.deepEqual([lease.valid, lease.state.is], [true, 'in-danger']);
  await world.advance(1_950);
  assert.equal(lease.valid, false, 'by the clock');
  assert.equal(signal.aborted, true);
  assert.equal(signal.reason.reason, 'timed-out');
  assert.equal(world.holder('a'), lease.owner, 'and the keys are still there');
  world.node(0).resume();
  world.node(1).resume();
});

test('nodes that are down are named', async (t) => {
  const world = new World(3);
  const locks = world.manager();
  t.after(() => locks.close());
  world.node(0).down('no route');
  world.node(2).down('refused');
  const error = await locks.tryAcquire('a').catch((thrown) => thrown);
  assert.ok(error instanceof UnreachableError, String(error));
  assert.deepEqual(error.nodes.toSorted(), ['node #0', 'node #2']);
  assert.match(error.message, /no quorum: at least 2 of 3 nodes did not vote \(quorum 2\).*no route/);
  world.node(0).up();
  await (await locks.tryAcquire('a')).release();
});

test('managers of a world exclude each other, and permits and readers are seen', async (t) => {
  const world = new World(3);
  const [one, other] = [world.manager(), world.manager()];
  t.after(() => Promise.all([one.close(), other.close()]));
  const lease = await one.acquire('a');
  await assert.rejects(other.tryAcquire('a'), HeldError);
  await lease.release();
  const permit = await one.semaphore('gpu', 2).acquire();
  assert.deepEqual([...world.permits('gpu').keys()], [permit.slot]);
  const reader = await other.rwlock('doc').read();
  assert.equal(world.readers('doc').length, 1);
  await Promise.all([permit.release(), reader.release()]);
});

test('a key that is lost on one node costs nothing, and a clock that was set is noticed', async (t) => {
  const world = new World(3);
  const events = [];
  const locks = world.manager({ onEvent: (event) => events.push(event.type) });
  t.after(() => locks.close());
  const lease = await locks.acquire('a');
  world.node(1).loseKey('a');
  world.node(2).setClockForward(1_000);
  await world.advance(20_000);
  assert.equal(lease.valid, true);
  assert.ok(events.includes('clock-stepped'));
  world.node(0).loseEverything();
  world.node(1).answerAfter(3);
  await world.advance(20_000);
  assert.equal(lease.valid, true);
});

test('what a test does wrong is told', async (t) => {
  assert.throws(() => new World(0), ConfigError);
  const world = new World(1);
  assert.throws(() => world.node(1), /the nodes 0 to 0, and not 1/);
  assert.throws(() => world.manager({ memory: 3 }), /has its nodes/);
  await assert.rejects(world.untilHeld('a', { patience: 100 }), /nobody does/);
});

test('who is refused a fair lock is told how many come first', async (t) => {
  const world = new World(3);
  const managers = [0, 1, 2].map(() => world.manager({ defaults: { fair: true } }));
  t.after(() => Promise.all(managers.map((locks) => locks.close())));
  const [holder, waiter, late] = managers;
  const lease = await holder.acquire('a');
  const waits = waiter.acquire('a', { timeout: 60_000 });
  await world.settle();
  const error = await late.tryAcquire('a').catch((thrown) => thrown);
  assert.ok(error instanceof HeldError);
  assert.equal(error.ahead, 1);
  assert.match(error.message, /another waits and comes first/);
  await lease.release();
  await (await waits).release();
});

test('a holder that reports no progress loses its lease, and one that does keeps it', async (t) => {
  const world = new World(3);
  const locks = world.manager({ defaults: { progressWithin: 5_000 } });
  t.after(() => locks.close());
  const [busy, idle] = [await locks.acquire('busy'), await locks.acquire('idle')];
  for (let second = 0; second < 30; second += 1) {
    busy.heartbeat();
    await world.advance(1_000);
  }
  assert.equal(busy.valid, true);
  assert.equal((await idle.lost()).reason, 'no-progress');
});

test('a manager that is closed does not wait for nodes that hang, and nor do its leases', async () => {
  const world = new World(3);
  const locks = world.manager();
  const lease = await locks.acquire('a');
  for (const number of [0, 1, 2]) world.node(number).hang();
  const lost = lease.lost();
  assert.equal(await locks.close(), 1);
  assert.equal((await lease.release()).is, 'unknown');
  assert.equal(await lost, undefined);
});
