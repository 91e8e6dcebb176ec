import { RedlockMutex } from "redis-semaphore";
import { connect, serve } from "./line.mjs";

let clients, held;
class Refused extends Error {}

await serve({
  isRefusal: (error) => error instanceof Refused,
  async open(urls) {
    clients = await connect(urls);
  },
  async lock(key, ttl, tries) {
    const mutex = new RedlockMutex(clients, key, {
      lockTimeout: ttl,
      acquireAttemptsLimit: tries,
      retryInterval: 10,
      refreshInterval: 0,
    });
    if (!(await mutex.tryAcquire())) throw new Refused("tryAcquire is false");
    held = mutex;
    return { value: mutex.identifier };
  },
  async unlock() {
    await held.release();
  },
});
