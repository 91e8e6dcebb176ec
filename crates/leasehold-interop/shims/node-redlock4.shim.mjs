import Redlock from "redlock";
import { connect, orGone, serve } from "./line.mjs";

let clients, held;
const isLockError = (error) => error.name === "LockError";

await serve({
  isRefusal: isLockError,
  async open(urls) {
    clients = await connect(urls);
  },
  async lock(key, ttl, tries) {
    const redlock = new Redlock(clients, { retryCount: tries - 1, retryDelay: 10, retryJitter: 5 });
    redlock.on("clientError", (error) => console.error(error.message));
    held = await redlock.lock(key.split(","), ttl);
    return { value: held.value, validity: held.expiration - Date.now() };
  },
  async unlock() {
    await orGone(isLockError, () => held.unlock());
  },
  async extend(ttl) {
    held = await orGone(isLockError, () => held.extend(ttl));
  },
});
