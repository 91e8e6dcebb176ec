// Reads requests and writes answers: the protocol of README.md.
import { createInterface } from "node:readline";
import Redis from "ioredis";

// A lock that had ended before it was released or extended.
export class Gone extends Error {}

// Something else went wrong: this is what is answered.
export class Failed extends Error {}

// One client for each node. It fails at once what it cannot send: a queue would outlast the lock.
export async function connect(urls) {
  const clients = urls.map((url) => {
    const options = { lazyConnect: true, enableOfflineQueue: false, maxRetriesPerRequest: 0 };
    const client = new Redis(url, options);
    client.on("error", (error) => console.error(`${url}: ${error.message}`));
    return client;
  });
  await Promise.allSettled(clients.map((client) => client.connect()));
  return clients;
}

// `library` has `open(urls)`, `lock(key, ttl, tries)`, `unlock()` and `extend(ttl)`. `lock` returns
// `{ value, validity }`, with `token` if there is a fencing token, or throws an error of which `isRefusal` says whether
// somebody else has the lock. Leasehold itself has `wait`, `leave`, `adopt`, `finish` and `crowd` as well.
export async function serve(library) {
  const [what, count, ...urls] = process.argv.slice(2);
  if (what === "cycles") await measure(library, Number(count), urls);
  else await answerAll(library);
  process.exit(0);
}

// Locks and unlocks new keys, and prints what each cycle took, in microseconds. The first tenth warms up.
async function measure(library, count, urls) {
  await library.open(urls);
  for (let number = -Math.floor(count / 10); number < count; number++) {
    const started = performance.now();
    await library.lock(`lone:${performance.timeOrigin}:${number}`, 10_000, 1);
    await library.unlock();
    if (number >= 0) console.log(Math.round((performance.now() - started) * 1000));
  }
}

async function answerAll(library) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [request, ...words] = line.split(" ");
    if (request === "quit") break;
    console.log(await answer(library, request, words));
  }
}

async function answer(library, request, words) {
  try {
    switch (request) {
      case "open":
        await library.open(words);
        return "ready";
      case "lock":
      case "wait": {
        const [key, ttl, how] = words;
        return locked(await library[request](key, Number(ttl), Number(how)));
      }
      case "adopt":
        return locked(await library.adopt(words[0]));
      case "unlock":
        await library.unlock();
        return "unlocked";
      case "extend":
        await library.extend(Number(words[0]));
        return "extended";
      case "leave":
        return `left ${await library.leave(words[0])}`;
      case "finish":
        await library.finish(...words);
        return "unlocked";
      case "crowd": {
        const [name, time, port] = words;
        return `crowded ${await library.crowd(name, Number(time), Number(port))}`;
      }
      default:
        return `failed there is no request ${request}`;
    }
  } catch (error) {
    const why = `${error.name}: ${error.message}`.replaceAll("\n", " ");
    if (error instanceof Failed) return `failed ${error.message}`.replaceAll("\n", " ");
    if (error instanceof Gone) return `gone ${why}`;
    if (["lock", "wait"].includes(request) && library.isRefusal(error)) return `refused ${why}`;
    return `failed ${why}`;
  }
}

function locked({ value, validity, token }) {
  const text = `locked ${value ?? "?"} ${Math.floor(validity) || "?"}`;
  return token === undefined ? text : `${text} ${token}`;
}

// What `call` returns; what it throws is a `Gone` if `isGone` says so.
export async function orGone(isGone, call) {
  try {
    return await call();
  } catch (error) {
    throw isGone(error) ? new Gone(error.message) : error;
  }
}
