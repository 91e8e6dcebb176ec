import { createRequire } from "node:module";
import { connect, orGone, serve } from "./line.mjs";

const { default: Redlock } = createRequire(import.meta.url)("redlock");
let redlock, held;
const isExecutionError = (error) => error.constructor.name === "ExecutionError";

await serve({
  isRefusal: isExecutionError,
  async open(urls) {
    // Without tries of their own, since it tries for two seconds to release what is gone.
    redlock = new Redlock(await connect(urls), { retryCount: 0 });
    redlock.on("error", (error) => console.error(error.message));
  },
  async lock(key, ttl, tries) {
    const settings = { retryCount: tries - 1, retryDelay: 10, retryJitter: 5 };
    held = await redlock.acquire(key.split(","), ttl, settings);
    return { value: held.value, validity: held.expiration - Date.now() };
  },
  async unlock() {
    await orGone(isExecutionError, () => held.release());
  },
  async extend(ttl) {
    const isGone = (error) => isExecutionError(error) || /expired/.test(error.message);
    held = await orGone(isGone, () => held.extend(ttl));
  },
});
