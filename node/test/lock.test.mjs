// Locks of all kinds, on nodes in memory.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import * as leasehold from 'leasehold';
import { sleep } from './help.mjs';

const { LockManager, HeldError, ClosedError, ConfigError, LeaseLostError, ReleasedError } = leasehold;

function manager(t, options) {
  const made = LockManager.memory(3, options);
  t.after(() => made.close());
  return made;
}

test('import and require give the same classes', () => {
  const required = createRequire(import.meta.url)('leasehold');
  assert.equal(required.LockManager, LockManager);
  assert.deepEqual(Object.keys(required).sort(), Object.keys(leasehold).sort());
});

test('a lock is held by one at a time, and who is refused is told by whom', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('orders/42');
  assert.equal(lease.valid, true);
  assert.ok(lease.remaining > 9_000 && lease.remaining < 10_000);
  assert.equal(typeof lease.fencingToken, 'bigint');
  assert.deepEqual([lease.name, lease.names, lease.state.is], ['orders/42', ['orders/42'], 'held']);
  const error = await locks.tryAcquire('orders/42').catch((thrown) => thrown);
  assert.ok(error instanceof HeldError && error instanceof leasehold.LeaseholdError);
  assert.equal(error.code, 'ERR_LEASEHOLD_HELD');
  assert.equal(error.name, 'HeldError');
  assert.equal(error.resource, 'orders/42');
  assert.equal(error.holder.pid, process.pid);
  assert.equal(error.holder.owner, lease.owner);
  assert.ok(error.remaining > 9_000);
  assert.match(
    error.message,
    /^lock "orders\/42": held by pid \d+ on .* whose lease ends in 9\.\d s unless extended/,
  );
  assert.deepEqual(await lease.release(), { is: 'released' });
  assert.deepEqual([lease.valid, lease.remaining, lease.state.is], [false, 0, 'released']);
  const next = await locks.tryAcquire('orders/42');
  assert.ok(next.fencingToken > lease.fencingToken);
  await next.release();
});

test('a second release tells the same, and an extension after it is refused', async (t) => {
  const lease = await manager(t).acquire('a');
  const [one, other] = await Promise.all([lease.release(), lease.release()]);
  assert.deepEqual([one, other], [{ is: 'released' }, { is: 'released' }]);
  await assert.rejects(lease.extend(), ReleasedError);
  await assert.rejects(lease.detach(), ReleasedError);
});

test('a timeout ends the wait, and says so', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a');
  const begun = performance.now();
  const error = await locks.acquire('a', { timeout: 120 }).catch((thrown) => thrown);
  assert.ok(error instanceof HeldError && error.timedOut);
  assert.ok(performance.now() - begun >= 115);
  const waits = locks.acquire('a', { timeout: 5_000 });
  await lease.release();
  assert.equal((await waits).valid, true);
});

test('a signal gives up the wait, and nothing stays locked', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a');
  const reason = new Error('no more');
  const abort = new AbortController();
  const waits = locks.acquire('a', { timeout: Infinity, signal: abort.signal });
  setTimeout(() => abort.abort(reason), 20);
  await assert.rejects(waits, (thrown) => thrown === reason);
  await assert.rejects(locks.acquire('b', { signal: abort.signal }), (thrown) => thrown === reason);
  await lease.release();
  await (await locks.tryAcquire('a')).release();
});

test('what is won in the moment of the abort is released', async (t) => {
  const locks = manager(t);
  for (let round = 0; round < 200; round += 1) {
    const abort = new AbortController();
    const won = locks.acquire('moment', { signal: abort.signal });
    // Before, within and after the win, as it comes.
    if (round % 3 === 0) abort.abort();
    else if (round % 3 === 1) setImmediate(() => abort.abort());
    else queueMicrotask(() => abort.abort());
    const lease = await won.catch(() => undefined);
    await lease?.release();
  }
  await (await locks.acquire('moment', { timeout: 1_000 })).release();
});

test('using releases after the work, and after an error of it', async (t) => {
  const locks = manager(t);
  const result = await locks.using('a', async (lease, signal) => {
    assert.equal(lease.valid, true);
    assert.equal(signal, lease.signal);
    return 42;
  });
  assert.equal(result, 42);
  const error = new Error('of the work');
  await assert.rejects(
    locks.using(['a', 'b'], { ttl: 2_000 }, () => {
      throw error;
    }),
    (thrown) => thrown === error,
  );
  await (await locks.tryAcquireAll(['b', 'a'])).release();
});

test('a release does not abort the signal', async (t) => {
  const lease = await manager(t).acquire('a');
  const { signal } = lease;
  const lost = lease.lost();
  await lease.release();
  await sleep(20);
  assert.equal(signal.aborted, false);
  assert.equal(await lost, undefined);
});

test('asyncDispose releases, and bears that the lease was let go of before', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a');
  await lease[Symbol.asyncDispose]();
  const other = await locks.tryAcquire('a');
  const owner = await other.detach();
  await other[Symbol.asyncDispose]();
  await assert.rejects(locks.tryAcquire('a'), HeldError);
  assert.equal((await locks.detached('a', owner).release()).is, 'released');
  await (await locks.tryAcquire('a')).release();
});

test('leases are extended while the event loop is blocked', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a', { ttl: 1_000 });
  const end = performance.now() + 3_000;
  while (performance.now() < end);
  assert.equal(lease.valid, true);
  assert.equal((await lease.release()).is, 'released');
});

test('a lease that is not extended is lost by itself, and says why', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a', { ttl: 500, renewEvery: false });
  const { signal } = lease;
  const loss = await lease.lost();
  assert.ok(loss instanceof LeaseLostError);
  assert.deepEqual(
    [loss.code, loss.reason, signal.aborted, signal.reason],
    ['ERR_LEASEHOLD_LOST', 'timed-out', true, loss],
  );
  assert.equal(lease.valid, false);
  await lease.release();
  assert.equal(await lease.lost(), loss);
});

test('who asks for the signal after the loss has one that is aborted', async (t) => {
  const lease = await manager(t).acquire('a', { ttl: 300, renewEvery: false });
  await sleep(350);
  assert.equal(lease.signal.aborted, true);
  assert.equal(lease.signal.reason.code, 'ERR_LEASEHOLD_LOST');
  await lease.release();
});

test('using rejects if the lease was lost, with what the work threw as the cause', async (t) => {
  const locks = manager(t);
  const options = { ttl: 300, renewEvery: false };
  await assert.rejects(
    locks.using('a', options, () => sleep(400)),
    LeaseLostError,
  );
  const error = new Error('of the work');
  const lost = await locks
    .using('a', options, async (_lease, signal) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      throw error;
    })
    .catch((thrown) => thrown);
  assert.ok(lost instanceof LeaseLostError);
  assert.equal(lost.cause, error);
});

test('using rejects if only the release tells the loss, whatever came of the work', async (t) => {
  const locks = manager(t);
  const evicted = async ({ name }) => void (await locks.forceRelease(name));
  const kinds = [
    [(work) => locks.using('a', work), evicted],
    [(work) => locks.rwlock('b').usingWrite(work), evicted],
    [(work) => locks.rwlock('c').usingRead(work), ({ name, owner }) => locks.detachedShared(name, owner).release()],
    [(work) => locks.semaphore('d', 2).using(work), ({ name, owner }) => locks.detachedPermit(name, owner).release()],
    [(work) => locks.election('e').lead(work), evicted],
  ];
  for (const [using, work] of kinds) {
    const lost = await using(work).catch((thrown) => thrown);
    assert.ok(lost instanceof LeaseLostError, String(lost));
    assert.deepEqual([lost.reason, lost.cause], ['gone', undefined]);
  }
  const nothing = locks.using('a', async (lease) => {
    await evicted(lease);
    throw undefined;
  });
  await assert.rejects(nothing, LeaseLostError);
});

test('extend, ensure and limits', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a', { ttl: 4_000, renewEvery: false, maxExtensions: 2 });
  assert.ok((await lease.extend({ ttl: 9_000 })) > 5_000);
  await lease.ensure(500);
  await assert.rejects(lease.ensure(60_000), { code: 'ERR_LEASEHOLD_TOO_SHORT' });
  await assert.rejects(lease.extend(), { code: 'ERR_LEASEHOLD_LIMIT' });
  await assert.rejects(lease.extend({ ttl: 1 }), ConfigError);
  for (const [options, message] of [
    [60_000, /the options of an extension are an object, and not 60000/],
    [null, /the options of an extension are an object, and not null/],
    [{ tll: 5 }, /there is no option "tll"; known are ttl/],
    [{ ttl: '5' }, /the option ttl is a number of milliseconds, and not "5"/],
  ]) {
    await assert.rejects(lease.extend(options), (error) => error instanceof ConfigError && message.test(error.message));
  }
  await lease.release();
});

test('options are refused by name', async (t) => {
  const locks = manager(t);
  const refused = [
    [{ tll: 3 }, /there is no option "tll"; known are ttl/],
    [{ ttl: '3' }, /the option ttl is a number of milliseconds, and not "3"/],
    [{ ttl: -1 }, /the option ttl is a number of milliseconds, and not -1/],
    [{ ttl: NaN }, /and not NaN/],
    [{ ttl: 1 }, /a TTL of 1ms is out of range/],
    [{ tries: 1.5 }, /the option tries is a whole number/],
    [{ tries: 0 }, /tr/],
    [{ pause: [9, 1] }, /shortest pause/],
    [{ drift: 7 }, /the options drift are an object, and not 7/],
    [{ drift: NaN }, /the options drift are an object, and not NaN/],
    [{ drift: null }, /the options drift are an object, and not null/],
    [{ drift: true }, /the options drift are an object, and not true/],
    [{ drift: [0.5, 2] }, /the options drift are an object, and not 0.5,2/],
    [{ drift: { shares: 0.5 } }, /there is no option "shares"; known are share, fixed/],
    [{ drift: { share: 2 } }, /the option drift.share is a number from 0 to 1/],
    [{ drift: { fixed: '2' } }, /the option drift.fixed is a number of milliseconds/],
    [{ fair: 'yes' }, /the option fair is true or false/],
    [{ label: '\n' }, /label/],
    [{ signal: 3 }, /the option signal is an AbortSignal/],
    [null, /options are an object, and not null/],
  ];
  for (const [options, message] of refused) {
    const error = await locks.acquire('a', options).catch((thrown) => thrown);
    assert.ok(error instanceof ConfigError, `${JSON.stringify(options)}: ${error}`);
    assert.match(error.message, message);
  }
  for (const name of ['', 7, undefined, 'x'.repeat(100_000)]) {
    await assert.rejects(locks.acquire(name), ConfigError);
  }
  await assert.rejects(locks.acquireAll('ab'), /named by a list/);
  await assert.rejects(locks.acquireAll(['a', 'b'], { fair: true }), ConfigError);
  await assert.rejects(locks.using('a', {}), ConfigError);
});

test('a drift is taken by its share, its fixed time, or both', async (t) => {
  const locks = manager(t);
  for (const [drift, least, most] of [
    [{ share: 0.5 }, 4_000, 5_000],
    [{ fixed: 3_000 }, 6_000, 7_000],
    [{ share: 0.5, fixed: 3_000 }, 1_000, 2_000],
    [{}, 9_000, 10_000],
    [undefined, 9_000, 10_000],
  ]) {
    const lease = await locks.acquire('a', { drift });
    assert.ok(lease.remaining > least && lease.remaining < most, `${JSON.stringify(drift)}: ${lease.remaining}`);
    await lease.release();
  }
});

test('managers are refused by name', () => {
  assert.throws(() => new LockManager({}), /no node was given/);
  assert.throws(() => new LockManager({ nodes: 'redis://a' }), /a list of addresses/);
  assert.throws(() => new LockManager({ nodes: ['redis://a', 'redis://a'] }), /given twice/);
  assert.throws(() => new LockManager({ nodes: ['http://a'] }), ConfigError);
  assert.throws(() => LockManager.memory(3, { onevent() {} }), /there is no option "onevent"/);
  assert.throws(() => LockManager.memory(3, { restartGuard: 'no' }), /known are quarantine/);
  assert.throws(() => LockManager.memory(3, { keyFormat: 'no place' }), ConfigError);
  assert.throws(() => LockManager.memory(3, { defaults: { ttl: 1 } }), /out of range/);
  assert.throws(() => LockManager.memory(99), ConfigError);
  assert.throws(() => LockManager.fromConfig('/nowhere/locks.toml'), ConfigError);
});

test('several names are locked together', async (t) => {
  const locks = manager(t);
  const both = await locks.acquireAll(['b', 'a']);
  assert.deepEqual(both.names.toSorted(), ['a', 'b']);
  await assert.rejects(locks.tryAcquire('a'), HeldError);
  await both.release();
  await (await locks.tryAcquire('a')).release();
});

test('many read, or one writes, and goes on as a reader', async (t) => {
  const doc = manager(t).rwlock('doc', { ttl: 5_000 });
  const readers = [await doc.read(), await doc.read()];
  assert.equal(readers[0].fencingToken, undefined);
  await assert.rejects(doc.tryWrite(), HeldError);
  await Promise.all(readers.map((reader) => reader.release()));
  const writer = await doc.write();
  assert.equal(typeof writer.fencingToken, 'bigint');
  await assert.rejects(doc.tryRead(), HeldError);
  const reader = await writer.downgrade();
  await (await doc.tryRead()).release();
  await writer.release();
  assert.equal(reader.valid, true, 'the writer it was is over, and not the reader');
  await reader.release();
  assert.equal(await doc.usingWrite((lease) => lease.valid), true);
  assert.equal(await doc.usingRead({ timeout: 0 }, (lease) => lease.valid), true);
});

test('so many at a time, each with a slot', async (t) => {
  const locks = manager(t);
  const gpus = locks.semaphore('gpu', 2);
  const permits = [await gpus.acquire(), await gpus.acquire()];
  assert.deepEqual(permits.map((permit) => permit.slot).toSorted(), [0, 1]);
  const error = await gpus.tryAcquire().catch((thrown) => thrown);
  assert.deepEqual([error.code, error.permits], ['ERR_LEASEHOLD_HELD', { of: 2, taken: 2 }]);
  const other = await locks
    .semaphore('gpu', 3)
    .tryAcquire()
    .catch((thrown) => thrown);
  assert.deepEqual([other.code, other.ours, other.theirs], ['ERR_LEASEHOLD_OTHER_PERMITS', 3, 2]);
  const owner = await permits[0].detach();
  assert.equal((await locks.detachedPermit('gpu', owner).release()).is, 'released');
  assert.equal(await gpus.using((permit) => permit.slot), permits[0].slot);
  await permits[1].release();
  assert.throws(() => locks.semaphore('gpu', -1), ConfigError);
  await assert.rejects(locks.semaphore('gpu', 0).acquire(), ConfigError);
});

test('one leads, others see who, and the next one has a larger term', async (t) => {
  const election = manager(t).election('scheduler', { label: '10.0.0.7:80' });
  assert.equal((await election.leader()).is, 'no-leader');
  const seen = [];
  const looking = (async () => {
    for await (const state of election.observe()) {
      seen.push(state.is);
      if (state.is === 'led') {
        assert.equal(state.leader.label, '10.0.0.7:80');
        return;
      }
    }
  })();
  const leadership = await election.campaign();
  assert.equal(leadership.isLeader, true);
  await looking;
  assert.equal(seen.at(-1), 'led');
  await assert.rejects(election.tryCampaign(), HeldError);
  await leadership.resign();
  const term = await election.lead((next) => next.term);
  assert.ok(term > leadership.term);
});

test('who leads repeatedly campaigns again after a loss', async (t) => {
  const locks = manager(t);
  const election = locks.election('scheduler', { ttl: 900 });
  const terms = [];
  const lost = [];
  const done = await election.leadRepeatedly(
    { onLost: (error) => void lost.push(error) },
    async (leader, signal) => {
      terms.push(leader.term);
      if (terms.length === 2) return 'done';
      await locks.forceRelease('scheduler');
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      return 'not told: it was lost';
    },
  );
  assert.equal(done, 'done');
  assert.equal(lost.length, 1);
  assert.ok(lost[0] instanceof LeaseLostError);
  assert.ok(terms[1] > terms[0]);
});

test('who leads repeatedly does not go on after the loss of another lock', async (t) => {
  const locks = manager(t);
  let times = 0;
  const leads = locks.election('scheduler').leadRepeatedly({ onLost: () => assert.fail() }, async () => {
    times += 1;
    if (times > 1) return 'again';
    return locks.using('inner', () => locks.forceRelease('inner'));
  });
  await assert.rejects(leads, (error) => error instanceof LeaseLostError && error.resource === 'inner');
  assert.equal(times, 1);
});

test('work is done once in a period, and again if it failed', async (t) => {
  const daily = manager(t).oncePer('report', 24 * 3_600_000, { starting: 3_600_000 });
  await assert.rejects(
    daily.run(() => Promise.reject(new Error('failed'))),
    /failed/,
  );
  assert.deepEqual(await daily.run((turn) => turn.nextPeriod > new Date()), { ran: true, result: true });
  const again = await daily.run(() => assert.fail('it was done'));
  assert.equal(again.ran, false);
  assert.equal(again.by.pid, process.pid);
  await assert.rejects(daily.tryBegin(), { code: 'ERR_LEASEHOLD_ALREADY_DONE' });
});

test('a lease goes to another manager by a text', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a');
  const text = await lease.handOver();
  assert.equal(lease.valid, false);
  const taken = await locks.adopt(text, { ttl: 2_000 });
  assert.equal(taken.valid, true);
  await taken.release();
  await assert.rejects(locks.adopt(text), { code: 'ERR_LEASEHOLD_LOST', reason: 'gone' });
  await assert.rejects(locks.adopt('nonsense'), { code: 'ERR_LEASEHOLD_MALFORMED' });
});

test('a detached lease is extended and released by its owner', async (t) => {
  const locks = manager(t);
  const owner = await (await locks.acquireAll(['a', 'b'])).detach();
  const detached = locks.detachedAll(['a', 'b'], owner);
  assert.ok((await detached.extend(5_000)) > 4_000);
  assert.deepEqual(await detached.release(), { is: 'released' });
  const reader = await (await locks.rwlock('c').read()).detach();
  assert.equal((await locks.detachedShared('c', reader).release()).is, 'released');
  assert.throws(() => locks.detachedPermit('c', 'x'), ConfigError);
});

test('who holds a lock is seen, and it can be taken away', async (t) => {
  const locks = manager(t);
  const lease = await locks.acquire('a', { label: 'nightly' });
  const seen = await locks.inspect('a');
  assert.deepEqual([seen.holder.label, seen.isFree, seen.quorum, seen.nodes.length], ['nightly', false, 2, 3]);
  const { evicted } = await locks.forceRelease('a');
  assert.deepEqual(
    evicted.map((one) => [one.owner, one.outcome.is]),
    [[lease.owner, 'released']],
  );
  await assert.rejects(lease.extend(), { code: 'ERR_LEASEHOLD_LOST' });
  const { is } = await lease.release();
  assert.equal(is, 'already-expired');
  assert.deepEqual(
    locks.health().map((node) => node.connection),
    ['up', 'up', 'up'],
  );
});

test('an operator says that locks on a cluster are plain', async (t) => {
  const locks = manager(t, { nodes: ['redis+cluster://127.0.0.1:1'], plain: true });
  const operator = locks.operator().answerWithin(1_000);
  assert.ok(operator.isPlain);
  const [{ is, reason }] = await operator.examine();
  assert.equal(is, 'silent');
  assert.match(reason, /where its slots are kept/);
});

test('plain locks have no tokens, readers, permits and periods', async (t) => {
  const locks = manager(t, { plain: true });
  const lease = await locks.acquire('a');
  assert.equal(lease.fencingToken, undefined);
  await lease.release();
  await assert.rejects(locks.rwlock('a').read(), ConfigError);
  await assert.rejects(locks.semaphore('a', 2).acquire(), ConfigError);
  await assert.rejects(locks.oncePer('a', 60_000).begin(), ConfigError);
  await (await locks.election('a').campaign()).resign();
});

test('a listener is told what happens, and its own errors are not hidden', async (t) => {
  const events = [];
  const locks = manager(t, { onEvent: (event) => events.push(event) });
  const lease = await locks.acquire('a');
  await locks.tryAcquire('a').catch(() => {});
  await lease.release();
  await sleep(50);
  const told = events.filter((event) => event.resource === 'a');
  assert.deepEqual(
    told.map((event) => event.type),
    ['acquired', 'not-acquired', 'released'],
  );
  assert.equal(told[0].fencingToken, lease.fencingToken);
  assert.equal(told[2].outcome.is, 'released');
  assert.equal(
    events.some((event) => event.type === 'asked'),
    false,
  );
  const all = [];
  const other = manager(t, { onEvent: (event) => all.push(event.type), events: 'all' });
  await (await other.acquire('a')).release();
  await sleep(50);
  assert.ok(all.includes('asked') && all.includes('answered'));
});

test('close gives back what is held, and ends what waits', async (t) => {
  const path = (await import('./help.mjs')).folder(t);
  const [one, other] = [LockManager.file(path), LockManager.file(path)];
  t.after(() => other.close());
  const lease = await one.acquire('a');
  const waits = one.acquire('a', { timeout: Infinity });
  const rejected = assert.rejects(waits, ClosedError);
  assert.equal(typeof (await one.close()), 'number');
  await rejected;
  assert.equal(lease.valid, false);
  await (await other.acquire('a', { timeout: 2_000 })).release();
  await assert.rejects(one.acquire('a'), ClosedError);
});

test('leases end with their manager, and say so to those who ask', async (t) => {
  const locks = LockManager.memory(3);
  const lease = await locks.acquire('a');
  const reader = await locks.rwlock('b').read();
  const asked = lease.lost();
  const extended = assert.rejects(reader.changed(), ReleasedError);
  const closed = locks.close();
  assert.deepEqual([lease.valid, lease.state.is], [false, 'released']);
  assert.deepEqual(await lease.release(), { is: 'released' });
  await closed;
  await extended;
  assert.equal(await asked, undefined);
  assert.equal(await reader.lost(), undefined);
  assert.equal(reader.signal.aborted, false);
  await reader[Symbol.asyncDispose]();
  assert.deepEqual(await reader.release(), { is: 'released' });
  await assert.rejects(lease.extend(), ReleasedError);
  for (const work of [
    async (other) => (await other.close(), 42),
    async (other) => (await Promise.all([other.close(), sleep(50)]), 42),
  ]) {
    const other = LockManager.memory(3);
    assert.equal(await other.using('a', () => work(other)), 42);
  }
  const other = LockManager.memory(3);
  const error = new Error('of the work');
  await assert.rejects(
    other.using('a', async () => {
      await other.close();
      throw error;
    }),
    (thrown) => thrown === error,
  );
});

test('what is won in the moment of the close is given back', async (t) => {
  const path = (await import('./help.mjs')).folder(t);
  const other = LockManager.file(path);
  t.after(() => other.close());
  for (let round = 0; round < 20; round += 1) {
    const one = LockManager.file(path);
    const won = one.acquire('a').catch(() => undefined);
    if (round % 2 === 0) await sleep(round / 10);
    const closed = one.close();
    assert.notEqual((await won)?.valid, true);
    await closed;
    await (await other.acquire('a', { timeout: 2_000 })).release();
  }
});

test('waiters of a fair lock are served in the order of their coming', async (t) => {
  const locks = manager(t, { defaults: { fair: true } });
  const first = await locks.acquire('a');
  const order = [];
  const waits = [];
  for (let number = 0; number < 5; number += 1) {
    waits.push(locks.using('a', { timeout: 20_000 }, () => order.push(number)));
    await sleep(10);
  }
  await first.release();
  await Promise.all(waits);
  assert.deepEqual(order, [0, 1, 2, 3, 4]);
});

test('a thousand callers of one lock have it one after the other', async (t) => {
  const locks = manager(t);
  let inside = 0;
  let most = 0;
  const one = () =>
    locks.using('a', { timeout: 60_000 }, async () => {
      inside += 1;
      most = Math.max(most, inside);
      await null;
      inside -= 1;
    });
  await Promise.all(Array.from({ length: 1_000 }, one));
  assert.equal(most, 1);
});
