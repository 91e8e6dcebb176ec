// Ends of processes and workers, and processes that are started.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import { HeldError, LockManager } from 'leasehold';
import { folder, program, sleep } from './help.mjs';

const holder = (end) => `
  import { LockManager } from 'leasehold';
  const locks = LockManager.file(process.argv.at(-1));
  const lease = await locks.acquire('a', { ttl: 30_000 });
  lease.signal.addEventListener('abort', () => {});
  console.log(lease.owner);
  ${end}
`;

async function heldIn(t, end) {
  const path = folder(t);
  const locks = LockManager.file(path);
  t.after(() => locks.close());
  const { child, ended, line } = program(t, holder(end), path);
  const owner = await line();
  return { locks, child, ended, owner, path };
}

test('a process that ends by itself with a lease releases it, and is not kept alive by it', async (t) => {
  const { locks, ended } = await heldIn(t, '');
  assert.deepEqual(await ended, { code: 0, signal: null });
  await (await locks.tryAcquire('a')).release();
});

test('process.exit releases what is held', async (t) => {
  const { locks, ended } = await heldIn(t, 'process.exit(7);');
  assert.deepEqual(await ended, { code: 7, signal: null });
  await (await locks.tryAcquire('a')).release();
});

test('an uncaught error releases what is held', async (t) => {
  const { locks, ended } = await heldIn(
    t,
    'console.error = () => {}; process.on("uncaughtException", () => process.exit(3)); null.x;',
  );
  assert.equal((await ended).code, 3);
  await (await locks.tryAcquire('a')).release();
});

test('a process that is killed frees its lock in a file at once', async (t) => {
  const { locks, child, ended, owner } = await heldIn(t, 'setInterval(() => {}, 1_000);');
  const error = await locks.tryAcquire('a').catch((thrown) => thrown);
  assert.ok(error instanceof HeldError);
  assert.deepEqual([error.holder.owner, error.holder.pid], [owner, child.pid]);
  child.kill('SIGKILL');
  assert.equal((await ended).signal, 'SIGKILL');
  await (await locks.acquire('a', { timeout: 1_000 })).release();
});

test('who waits for the loss is kept alive until the manager is closed', async (t) => {
  const source = `
    import { LockManager } from 'leasehold';
    const locks = LockManager.memory(3);
    const lease = await locks.acquire('a');
    const tell = (loss) => console.log(String(loss));
    lease.lost().then(tell);
    setTimeout(() => locks.close().then(() => lease.lost()).then(tell), 50);
  `;
  const { ended, line } = program(t, source);
  assert.deepEqual([await line(), await line()], ['undefined', 'undefined']);
  assert.equal((await ended).code, 0);
});

test('who waits for a lock is kept alive', async (t) => {
  const path = folder(t);
  const locks = LockManager.file(path);
  t.after(() => locks.close());
  const lease = await locks.acquire('a');
  const source = `
    import { LockManager } from 'leasehold';
    console.log('waits');
    await LockManager.file(process.argv.at(-1)).acquire('a', { timeout: 20_000 });
    console.log('won');
  `;
  const { ended, line } = program(t, source, path);
  assert.equal(await line(), 'waits');
  await sleep(600);
  await lease.release();
  assert.equal(await line(), 'won');
  assert.equal((await ended).code, 0);
});

const inWorker = (path, what) => `
  const { parentPort } = require('node:worker_threads');
  const { LockManager } = require('leasehold');
  const locks = LockManager.file(${JSON.stringify(path)});
  (async () => {
    const lease = await locks.acquire('a', { ttl: 30_000, timeout: 20_000 });
    parentPort.postMessage(lease.owner);
    ${what}
  })();
`;

test('workers have managers of their own, and exclude each other', async (t) => {
  const path = folder(t);
  const source = inWorker(path, 'setTimeout(() => lease.release().then(() => process.exit()), 30);');
  const order = [];
  const workers = Array.from({ length: 4 }, () => new Worker(source, { eval: true }));
  await Promise.all(
    workers.map(async (worker) => {
      const [owner] = await once(worker, 'message');
      order.push(owner);
      await once(worker, 'exit');
    }),
  );
  assert.equal(new Set(order).size, 4);
});

test('a worker that is terminated releases what it held', async (t) => {
  const path = folder(t);
  const locks = LockManager.file(path);
  t.after(() => locks.close());
  for (const end of ['setInterval(() => {}, 1_000);', 'for (;;);']) {
    const worker = new Worker(inWorker(path, end), { eval: true });
    await once(worker, 'message');
    await assert.rejects(locks.tryAcquire('a'), HeldError);
    await worker.terminate();
    await (await locks.acquire('a', { timeout: 2_000 })).release();
  }
});

test('a worker that is terminated in the middle of its waiting leaves nothing', async (t) => {
  const path = folder(t);
  const locks = LockManager.file(path);
  t.after(() => locks.close());
  for (let round = 0; round < 5; round += 1) {
    const lease = await locks.acquire('a');
    const worker = new Worker(inWorker(path, ''), { eval: true });
    await once(worker, 'online');
    await sleep(100 + 20 * round);
    await Promise.all([worker.terminate(), lease.release()]);
    await (await locks.acquire('a', { timeout: 2_000 })).release();
  }
});

test('workers that are terminated at any moment, with calls under way, break nothing', async (t) => {
  const path = folder(t);
  const source = `
    const { LockManager } = require('leasehold');
    const managers = [
      LockManager.memory(3, { onEvent() {}, events: 'all' }),
      LockManager.file(${JSON.stringify(path)}),
    ];
    const take = async (locks, number) => {
      for (;;) {
        try {
          const lease = await locks.acquire('a' + (number % 3), { timeout: 50 + number });
          lease.signal;
          await new Promise((resolve) => setTimeout(resolve, 1));
          await lease.release();
        } catch (error) {
          if (error.code !== 'ERR_LEASEHOLD_HELD') throw error;
        }
      }
    };
    for (const locks of managers) for (let number = 0; number < 8; number += 1) take(locks, number);
  `;
  const one = async (_, number) => {
    for (let round = 0; round < 10; round += 1) {
      const worker = new Worker(source, { eval: true });
      const failed = once(worker, 'error').then(([error]) => error);
      assert.equal(await Promise.race([sleep(40 + 35 * ((number + round) % 6)), failed]), undefined);
      await worker.terminate();
    }
  };
  await Promise.all(Array.from({ length: 4 }, one));
  const locks = LockManager.file(path);
  t.after(() => locks.close());
  for (let number = 0; number < 3; number += 1)
    await (await locks.acquire(`a${number}`, { timeout: 3_000 })).release();
});

test('processes of a cluster exclude each other', async (t) => {
  const source = `
    import cluster from 'node:cluster';
    import { LockManager } from 'leasehold';
    const path = process.argv.at(-1);
    // Made before the others are started: they load the package for themselves.
    const locks = LockManager.file(path);
    const lease = await locks.acquire('a', { timeout: 20_000 });
    if (cluster.isPrimary) {
      cluster.setupPrimary({ exec: process.env.SOURCE, args: [path] });
      let won = 0;
      for (let number = 0; number < 2; number += 1) {
        cluster.fork().on('message', () => {
          won += 1;
          console.log('worker', lease.valid);
        });
      }
      setTimeout(() => lease.release(), 300);
      await new Promise((resolve) => cluster.on('exit', () => won === 2 && resolve()));
      console.log('done');
    } else {
      process.send(lease.owner, () => lease.release().then(() => process.exit()));
    }
  `;
  const { writeFileSync } = await import('node:fs');
  const path = folder(t);
  // Where the package is found.
  const file = new URL(`./cluster-${process.pid}.mjs`, import.meta.url);
  writeFileSync(file, source);
  t.after(() => import('node:fs').then(({ rmSync }) => rmSync(file)));
  process.env.SOURCE = file.pathname;
  const { line, ended } = program(
    t,
    `process.argv.push(${JSON.stringify(path)}); await import(process.env.SOURCE);`,
    path,
  );
  assert.deepEqual([await line(), await line(), await line()], ['worker false', 'worker false', 'done']);
  assert.equal((await ended).code, 0);
});
