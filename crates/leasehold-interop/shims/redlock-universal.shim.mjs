import { createRedlock, IoredisAdapter } from "redlock-universal";
import { connect, Gone, serve } from "./line.mjs";

let adapters, lock, held;

await serve({
  isRefusal: (error) => error.name === "LockAcquisitionError",
  async open(urls) {
    adapters = (await connect(urls)).map((client) => new IoredisAdapter(client));
  },
  async lock(key, ttl, tries) {
    const next = createRedlock({ adapters, key, ttl, retryAttempts: tries - 1, retryDelay: 10 });
    held = await next.acquire();
    lock = next;
    return { value: held.value, validity: held.acquiredAt + held.ttl - Date.now() };
  },
  async unlock() {
    if (!(await lock.release(held))) throw new Gone("not released");
  },
  async extend(ttl) {
    if (!(await lock.extend(held, ttl))) throw new Gone("not extended");
  },
});
