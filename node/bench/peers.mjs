// leasehold beside node-redlock 5 and redis-semaphore, on servers of its own, in interleaved rounds.
//
// In a folder of its own, with the package that `cargo xtask packages node` built:
//
//   npm install ./leasehold-0.1.0.tgz redlock@5.0.0-beta.2 ioredis@5 redis-semaphore@5
//   cp …/node/bench/peers.mjs . && node peers.mjs [rounds]
//
// One task takes and gives back a lock, one cycle after the other; then 64 promises do, each with locks of its
// own. All durations are medians over all cycles of a round, and of those over the rounds; ratios are medians of
// the ratios of each round, since what disturbs the machine disturbs neighbours alike.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { Redis } from 'ioredis';
import Redlock from 'redlock';
import semaphore from 'redis-semaphore';
import { LockManager } from 'leasehold';

const ROUNDS = Number(process.argv[2] ?? 9);
const CYCLES = 300;
const TASKS = 64;
const CYCLES_OF_TASK = 30;
const TTL = 10_000;

const sleep = (millis) => new Promise((resolve) => setTimeout(resolve, millis));

function median(values) {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)];
}

async function startServer() {
  const listener = createServer().listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address();
  listener.close();
  await once(listener, 'close');
  const words = ['--port', port, '--save', '', '--appendonly', 'no', '--bind', '127.0.0.1'];
  const child = spawn(process.env.LEASEHOLD_SERVER ?? 'redis-server', words.map(String), { stdio: 'ignore' });
  return { child, port };
}

/** Each peer: how a cycle is done, and how it ends. */
async function peers(servers) {
  const nodes = servers.map(({ port }) => `redis://127.0.0.1:${port}`);
  const locks = new LockManager({ nodes });
  const plain = new LockManager({ nodes, plain: true });
  await locks.operator().admit();
  const connect = () => servers.map(({ port }) => new Redis(port, '127.0.0.1'));
  const [ofRedlock, ofSemaphore] = [connect(), connect()];
  const redlock = new Redlock(ofRedlock, { retryCount: 0 });
  redlock.on('error', () => {});
  const { Mutex, RedlockMutex } = semaphore;
  const options = { lockTimeout: TTL };
  const mutex = (key) =>
    servers.length === 1 ? new Mutex(ofSemaphore[0], key, options) : new RedlockMutex(ofSemaphore, key, options);
  return {
    all: {
      leasehold: async (key) => {
        const lease = await locks.acquire(`l/${key}`);
        await lease.release();
      },
      // What the others do and no more: no tokens, and nodes may forget.
      'leasehold plain': async (key) => {
        const lease = await plain.acquire(`p/${key}`);
        await lease.release();
      },
      'node-redlock 5': async (key) => {
        const lock = await redlock.acquire([`r/${key}`], TTL);
        await lock.release();
      },
      'redis-semaphore': async (key) => {
        const lock = mutex(`s/${key}`);
        await lock.acquire();
        await lock.release();
      },
    },
    async end() {
      await Promise.all([locks.close(), plain.close()]);
      for (const client of [...ofRedlock, ...ofSemaphore]) client.disconnect();
    },
  };
}

/** The median of one task's cycles, in microseconds. */
async function oneTask(cycle) {
  const took = [];
  for (let number = 0; number < CYCLES; number += 1) {
    const begun = performance.now();
    await cycle(`one/${number % 50}`);
    took.push((performance.now() - begun) * 1_000);
  }
  return median(took);
}

/** Cycles in a second of so many promises. */
async function manyTasks(cycle) {
  const task = async (_, of) => {
    for (let number = 0; number < CYCLES_OF_TASK; number += 1) await cycle(`many/${of}/${number % 5}`);
  };
  const begun = performance.now();
  await Promise.all(Array.from({ length: TASKS }, task));
  return (TASKS * CYCLES_OF_TASK * 1_000) / (performance.now() - begun);
}

async function compare(servers) {
  const { all, end } = await peers(servers);
  const names = Object.keys(all);
  const seen = Object.fromEntries(names.map((name) => [name, { p50: [], perSecond: [] }]));
  for (const name of names) await oneTask(all[name]).then(() => manyTasks(all[name]));
  for (let round = 0; round < ROUNDS; round += 1) {
    // Another one first each time.
    const order = names.map((_, place) => names[(place + round) % names.length]);
    for (const name of order) seen[name].p50.push(await oneTask(all[name]));
    for (const name of order) seen[name].perSecond.push(await manyTasks(all[name]));
  }
  await end();
  const ours = seen.leasehold;
  const ratio = (theirs, of, how) => median(theirs.map((value, round) => how(value, of[round]))).toFixed(2);
  console.log(`\n${servers.length} node${servers.length === 1 ? '' : 's'}, ${ROUNDS} rounds`);
  for (const name of names) {
    const { p50, perSecond } = seen[name];
    const slower = ratio(p50, ours.p50, (theirs, own) => theirs / own);
    const faster = ratio(perSecond, ours.perSecond, (theirs, own) => own / theirs);
    console.log(
      `  ${name.padEnd(16)} one task p50 ${median(p50).toFixed(0).padStart(6)} µs (${slower} x ours)` +
        `   ${TASKS} promises ${median(perSecond).toFixed(0).padStart(6)} cycles/s (ours is ${faster} x)`,
    );
  }
}

/** One of five nodes hangs: what it costs. */
async function hung(servers) {
  const { all, end } = await peers(servers);
  await oneTask(all.leasehold);
  const [healthy, broken] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    healthy.push(await oneTask(all.leasehold));
    servers[2].child.kill('SIGSTOP');
    await sleep(50);
    broken.push(await oneTask(all.leasehold));
    servers[2].child.kill('SIGCONT');
    await sleep(1_500);
  }
  await end();
  const ratios = broken.map((value, round) => value / healthy[round]);
  console.log(
    `\none of five nodes hangs: p50 ${median(broken).toFixed(0)} µs, ${median(ratios).toFixed(2)} x healthy`,
  );
}

const servers = await Promise.all(Array.from({ length: 5 }, startServer));
process.on('exit', () => servers.forEach(({ child }) => child.kill('SIGKILL')));
await sleep(500);
await compare(servers.slice(0, 1));
await compare(servers);
await hung(servers);
process.exit();
