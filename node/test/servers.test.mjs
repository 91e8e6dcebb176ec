// Locks on servers of this test's own.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AbstainedError, HeldError, LockManager, TimestampLock, UnreachableError } from 'leasehold';
import { FencedScript, setIfNewest, staleOf } from 'leasehold/fence';
import { noServers, program, servers, sleep } from './help.mjs';

const options = { skip: noServers };

function manager(t, nodes, more) {
  const made = new LockManager({ nodes, ...more });
  t.after(() => made.close());
  return made;
}

for (const count of [1, 5]) {
  test(`two managers exclude each other on ${count} of them`, options, async (t) => {
    const { nodes, all } = await servers(t, count, LockManager);
    const [one, other] = [manager(t, nodes), manager(t, nodes)];
    const lease = await one.acquire('orders/42');
    assert.equal(await all[0].command('GET', 'orders/42'), lease.owner);
    await assert.rejects(other.tryAcquire('orders/42'), HeldError);
    const waits = other.acquire('orders/42');
    await lease.release();
    const next = await waits;
    assert.ok(next.fencingToken > lease.fencingToken);
    await next.release();
    const all_of = await one.acquireAll(['b', 'a']);
    await assert.rejects(other.tryAcquire('b'), HeldError);
    await all_of.release();
  });
}

test('a minority may be gone, and a majority may not: the error names who is', options, async (t) => {
  const { nodes, all } = await servers(t, 3, LockManager);
  const locks = manager(t, nodes);
  await (await locks.acquire('a')).release();
  await all[0].end();
  await (await locks.acquire('a')).release();
  await all[1].end();
  const error = await locks.tryAcquire('a').catch((thrown) => thrown);
  assert.ok(error instanceof UnreachableError, String(error));
  assert.deepEqual(
    error.nodes.toSorted(),
    nodes
      .slice(0, 2)
      .map((url) => url.slice('redis://'.length))
      .toSorted(),
  );
});

test('a server that crashes and starts again without its data does not vote a lock away', options, async (t) => {
  const { nodes, all } = await servers(t, 3, LockManager);
  const [one, other] = [manager(t, nodes), manager(t, nodes)];
  await one.acquire('a', { ttl: 20_000 });
  // The published weakness of Redlock: with one node that did not vote, and one that forgot, another would win.
  for (const server of all.slice(0, 2)) {
    await server.end();
    await server.begin();
  }
  await sleep(500);
  const error = await other.acquire('a', { timeout: 1_500 }).catch((thrown) => thrown);
  assert.ok(
    error instanceof AbstainedError || error instanceof HeldError || error instanceof UnreachableError,
    String(error),
  );
  const again = await one.tryAcquire('b').catch((thrown) => thrown);
  assert.ok(again instanceof AbstainedError, String(again));
  assert.ok(again.retryAfter > 20_000);
});

test('the loss is told in time when the servers are gone', options, async (t) => {
  const { nodes, all } = await servers(t, 3, LockManager);
  const begun = performance.now();
  const lease = await manager(t, nodes).acquire('a', { ttl: 1_000 });
  await Promise.all([all[0].end(), all[1].end()]);
  const loss = await lease.lost();
  // Extended once, perhaps, before they were gone.
  assert.ok(performance.now() - begun < 2_000);
  assert.equal(loss.reason, 'timed-out');
  assert.equal(lease.signal.aborted, true);
});

test('a holder that is killed is waited for until its TTL is over', options, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const source = `
    import { LockManager } from 'leasehold';
    const lease = await new LockManager({ nodes: process.argv.at(-1).split(',') }).acquire('a', { ttl: 1_500 });
    console.log(String(lease.fencingToken));
    setInterval(() => {}, 1_000);
  `;
  const { child, ended, line } = program(t, source, nodes.join(','));
  const token = BigInt(await line());
  const locks = manager(t, nodes);
  await assert.rejects(locks.tryAcquire('a'), HeldError);
  child.kill('SIGKILL');
  await ended;
  await assert.rejects(locks.tryAcquire('a'), HeldError);
  const lease = await locks.acquire('a', { timeout: 5_000 });
  assert.ok(lease.fencingToken > token);
  await lease.release();
});

test('a process that ends releases its locks on servers', options, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const source = `
    import { LockManager } from 'leasehold';
    const locks = new LockManager({ nodes: process.argv.at(-1).split(',') });
    for (let number = 0; number < 100; number += 1) await locks.acquire('a' + number, { ttl: 30_000 });
    console.log('held');
    process.exit();
  `;
  const { ended, line } = program(t, source, nodes.join(','));
  assert.equal(await line(), 'held');
  assert.equal((await ended).code, 0);
  const locks = manager(t, nodes);
  for (let number = 0; number < 100; number += 1) await (await locks.tryAcquire(`a${number}`)).release();
});

test('a server that hangs costs its vote and nothing else', options, async (t) => {
  const { nodes, all } = await servers(t, 5, LockManager);
  const locks = manager(t, nodes);
  await (await locks.acquire('a')).release();
  all[2].child.kill('SIGSTOP');
  const begun = performance.now();
  for (let round = 0; round < 20; round += 1) await (await locks.acquire(`a${round}`)).release();
  const took = performance.now() - begun;
  all[2].child.kill('SIGCONT');
  assert.ok(took < 20 * 100, `20 rounds took ${took} ms`);
});

test('ten thousand leases are held at once', options, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const locks = manager(t, nodes);
  const leases = [];
  for (let begun = 0; begun < 10_000; begun += 500) {
    const some = Array.from({ length: 500 }, (_, number) =>
      locks.acquire(`lease/${begun + number}`, { ttl: 30_000 }),
    );
    leases.push(...(await Promise.all(some)));
  }
  const lost = leases.filter((lease) => lease.signal.aborted);
  // Until each was extended.
  await sleep(12_000);
  assert.equal(lost.length + leases.filter((lease) => lease.signal.aborted || !lease.valid).length, 0);
  assert.ok(leases.every((lease) => lease.remaining > 19_000));
  const released = await Promise.all(leases.map((lease) => lease.release()));
  assert.equal(released.filter(({ is }) => is !== 'released').length, 0);
});

test('operators see, list, watch and admit', options, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const locks = manager(t, nodes);
  const operator = locks.operator();
  assert.deepEqual([operator.quorum, operator.isPlain], [2, false]);
  const lease = await locks.acquire('orders/42');
  const surveys = await operator.within(2_000).survey();
  assert.deepEqual(
    surveys.map(({ is, told }) => [is, told.membership, told.abstains]),
    Array(3).fill(['told', 'ours', null]),
  );
  const seen = await operator.about('orders/42').answerWithin(2_000).examine();
  assert.ok(seen.every(({ told }) => told.cluster === null && told.roundTrip > 0 && /^(Redis|Valkey) /.test(told.version)));
  assert.ok((await operator.examineVotes()).every(({ is }) => is === 'told'));
  const listing = await operator.list('orders/');
  assert.deepEqual(
    listing.locks.map((lock) => [lock.resource, lock.holder.owner]),
    [['orders/42', lease.owner]],
  );
  assert.equal((await operator.list('', { most: 10, hashes: true, answerWithin: 1_000 })).locks.length, 1);
  assert.equal((await operator.look('orders/42')).holder.pid, process.pid);
  assert.equal((await operator.untilFree('orders/42', { timeout: 100 })).isFree, false);
  const abort = new AbortController();
  const waits = operator.untilFree('orders/42', { signal: abort.signal });
  abort.abort();
  await assert.rejects(waits, { name: 'AbortError' });
  const watched = (async () => {
    for await (const state of operator.lookOn('orders/42')) if (state.isFree) return true;
    return false;
  })();
  const free = operator.untilFree('orders/42');
  await sleep(200);
  await lease.release();
  assert.equal((await free).isFree, true);
  assert.equal(await watched, true);
  const permit = await operator.untilPermit('gpu', 2);
  assert.equal(permit.isFree, true);
  const leadership = await locks.election('scheduler').campaign();
  for await (const state of operator.observe('scheduler')) {
    if (state.is !== 'led') continue;
    assert.equal(state.leader.owner, leadership.owner);
    break;
  }
  await leadership.resign();
  assert.deepEqual(
    (await operator.admitNew()).map(({ told }) => told.is),
    Array(3).fill('not-new'),
  );
  assert.deepEqual(
    (await operator.admit()).map(({ told }) => told.is),
    Array(3).fill('admitted'),
  );
  const other = manager(t, nodes, { maxTtl: 40_000 });
  await assert.rejects(other.tryAcquire('a'), { code: 'ERR_LEASEHOLD_DISAGREEMENT' });
  const rehearsal = await other.operator().rehearse();
  assert.deepEqual(
    rehearsal.nodes.map(({ is }) => is),
    Array(3).fill('would'),
  );
  const changed = await other.operator().reconfigure();
  assert.equal(changed.nodes.length, 3);
});

test('a fenced write is refused when it is late', options, async (t) => {
  const { nodes, all } = await servers(t, 1, LockManager);
  const locks = manager(t, nodes);
  const early = await locks.acquire('a');
  await early.release();
  const late = await locks.acquire('a');
  await late.release();
  const evaluate = ({ script, keys, args }) => all[0].command('EVAL', script, keys.length, ...keys, ...args);
  assert.equal(await evaluate(setIfNewest('account', 'account:fence', late.fencingToken, '90')), 'OK');
  const error = await evaluate(setIfNewest('account', 'account:fence', early.fencingToken, '70')).catch(
    (thrown) => thrown,
  );
  const stale = staleOf(early.fencingToken, error);
  assert.deepEqual([stale.code, stale.newest], ['ERR_LEASEHOLD_STALE', late.fencingToken]);
  assert.equal(await all[0].command('GET', 'account'), '90');
  const add = new FencedScript("return redis.call('INCRBY', KEYS[1], ARGV[1])");
  const call = add.call('account:fence', late.fencingToken, { keys: ['account'], args: ['5'] });
  assert.equal(await evaluate(call), '95');
  await assert.rejects(
    evaluate(add.call('account:fence', early.fencingToken, { keys: ['account'], args: ['5'] })),
    /STALE/,
  );
});

test('a lock of timestamps is shared with older programs', options, async (t) => {
  const { all, nodes } = await servers(t, 1, LockManager);
  const lock = new TimestampLock(nodes[0], 'lock.foo', { timeout: 3_000 });
  const lease = await lock.acquire();
  assert.equal(Number(await all[0].command('GET', 'lock.foo')), lease.value);
  assert.equal(lease.valid, true);
  await assert.rejects(lock.tryAcquire(), HeldError);
  await lease.extend();
  assert.equal((await lease.release()).is, 'released');
  assert.equal(lease.valid, false);
  const later = await lock.tryAcquire();
  await later[Symbol.asyncDispose]();
  assert.throws(() => new TimestampLock('redis://x', 'a', { timeout: 10 }), { code: 'ERR_LEASEHOLD_CONFIG' });
});

test('from_env and from_config name the nodes', options, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const { folder } = await import('./help.mjs');
  const { writeFileSync } = await import('node:fs');
  const path = `${folder(t)}/locks.toml`;
  writeFileSync(
    path,
    `[clusters.main]\nnodes = ${JSON.stringify(nodes)}\n[clusters.other]\nnodes = ["redis://nowhere"]\n`,
    { mode: 0o600 },
  );
  const configured = LockManager.fromConfig(path, { configCluster: 'main', defaults: { ttl: 5_000 } });
  t.after(() => configured.close());
  const lease = await configured.acquire('a');
  assert.ok(lease.remaining < 5_000);
  process.env.LEASEHOLD_NODES = nodes.join(',');
  const fromEnv = LockManager.fromEnv();
  t.after(() => fromEnv.close());
  await assert.rejects(fromEnv.tryAcquire('a'), HeldError);
  await lease.release();
});
