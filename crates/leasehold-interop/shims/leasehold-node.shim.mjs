// Leasehold's own package.
import { setTimeout as rest } from "node:timers/promises";
import { LockManager } from "leasehold";
import { connect, Failed, Gone, orGone, serve } from "./line.mjs";

const plain = process.env.KIND === "plain";
const PAUSE = 10;
// Longer than anybody waits here: who wakes before its end was told.
const LONG_PAUSE = 20_000;
// As src/crowd.rs has them.
const LOCKS = 32;
const MEMBERS = 24;
const REST_MS = 2;
const THINKING_MS = 1;
const A_WHILE_MS = 300;
const TWO_HELD = "TWO HELD AT ONCE";
let locks, held;

const isRefusal = (error) => error.code === "ERR_LEASEHOLD_HELD";
const isGone = (error) => ["ERR_LEASEHOLD_LOST", "ERR_LEASEHOLD_RELEASED"].includes(error.code);

function keep(lease) {
  held = lease;
  return { value: lease.owner, validity: lease.remaining, token: lease.fencingToken };
}

async function acquire(key, ttl, options) {
  const names = key.split(",");
  // As other libraries do: not extended by itself.
  const how = { ttl, renewEvery: false, ...options };
  return keep(await (names.length === 1 ? locks.acquire(key, how) : locks.acquireAll(names, how)));
}

function letGo() {
  const lease = held;
  held = undefined;
  return lease;
}

function released({ is, message }) {
  if (is === "unknown") throw new Failed(message);
  if (is !== "released") throw new Gone(message);
}

await serve({
  isRefusal,
  open(urls) {
    locks = new LockManager({ nodes: urls, plain });
  },
  lock(key, ttl, tries) {
    return acquire(key, ttl, tries === 1 ? { timeout: 0 } : { tries, pause: [PAUSE, PAUSE] });
  },
  wait(key, ttl, patience) {
    return acquire(key, ttl, { timeout: patience, pause: [LONG_PAUSE, LONG_PAUSE] });
  },
  async unlock() {
    released(await letGo().release());
  },
  async extend(ttl) {
    await orGone(isGone, () => held.extend({ ttl }));
  },
  leave(how) {
    return how === "handed-over" ? letGo().handOver() : letGo().detach();
  },
  async adopt(text) {
    return keep(await locks.adopt(text));
  },
  async finish(key, owner) {
    released(await locks.detached(key, owner).release());
  },
  crowd: contend,
});

// Many who contend for many locks by one manager: what src/crowd.rs does.
async function contend(name, time, port) {
  const [there] = await connect([`redis://127.0.0.1:${port}`]);
  const end = performance.now() + time;
  const members = Array.from({ length: MEMBERS }, async (_, lock) => {
    let turns = 0;
    while (performance.now() < end) {
      lock = (lock + 1) % LOCKS;
      turns += await turn(there, `${name}/${lock}`);
      await rest(Math.random() * REST_MS);
    }
    return turns;
  });
  try {
    return (await Promise.all(members)).reduce((sum, turns) => sum + turns);
  } finally {
    there.disconnect();
  }
}

// 1 if the lock was had.
async function turn(there, resource) {
  let lease;
  try {
    lease = await locks.acquire(resource, { timeout: A_WHILE_MS });
  } catch (error) {
    if (isRefusal(error)) return 0;
    throw error;
  }
  let outcome;
  try {
    await count(there, resource, lease);
  } finally {
    outcome = await lease.release();
  }
  if (outcome.is !== "released") throw new Failed(`${resource} cannot be unlocked: ${outcome.message}`);
  return 1;
}

// Counts, as one who is alone may.
async function count(there, resource, lease) {
  const [inside, turns] = [`${resource}/inside`, `${resource}/turns`];
  const found = await there.incr(inside);
  const before = Number(await there.get(turns));
  if (!plain) {
    const last = BigInt((await there.get(`${resource}/token`)) ?? 0);
    const token = lease.fencingToken;
    if (token <= last) throw new Failed(`${resource}: token ${token} comes after ${last}`);
    await there.set(`${resource}/token`, String(token));
  }
  await rest(THINKING_MS);
  await there.set(turns, before + 1);
  await there.decr(inside);
  // Who stood still for so long may not be alone any more, and should not have gone on.
  if (!lease.valid) throw new Failed("proves nothing: the machine stood still");
  if (found !== 1) throw new Failed(`${TWO_HELD}: somebody was inside who had ${resource}`);
}
