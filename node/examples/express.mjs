// A web service that changes an order alone: which status says that a lock is busy, lost, or not to be had.
//
//   npm install express; LEASEHOLD_NODES=… node express.mjs
//   curl -X POST localhost:3000/orders/42/pay

import express from 'express';
import {
  AbstainedError,
  HeldError,
  LeaseLostError,
  LeaseholdError,
  LockManager,
  UnreachableError,
} from 'leasehold';
import { StaleError } from 'leasehold/fence';

const locks = process.env.LEASEHOLD_NODES ? LockManager.fromEnv() : LockManager.memory(3);
const app = express();

app.post('/orders/:id/pay', async (request, response, next) => {
  // A client that goes away waits for nothing any more.
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  try {
    const options = { timeout: 2_000, signal: gone.signal };
    const paid = await locks.using(`orders/${request.params.id}`, options, (lease, signal) => pay(lease, signal));
    response.json(paid);
  } catch (error) {
    if (!gone.signal.aborted) next(error);
  }
});

async function pay(lease, signal) {
  // What the payment takes. Each step that cannot be undone asks first.
  await new Promise((resolve) => setTimeout(resolve, 100));
  signal.throwIfAborted();
  return { paid: true, token: String(lease.fencingToken) };
}

/** The status of an error of the locks, and when to come again. */
function refusal(error) {
  const seconds = (millis) => Math.max(1, Math.ceil((millis ?? 1_000) / 1_000));
  if (error instanceof HeldError) return [423, seconds(error.remaining)];
  if (error instanceof AbstainedError) return [503, seconds(error.retryAfter)];
  if (error instanceof UnreachableError) return [503, 1];
  if (error instanceof LeaseLostError || error instanceof StaleError) return [409];
  return [500];
}

// Express knows it by its four parameters.
app.use((error, _request, response, next) => {
  if (!(error instanceof LeaseholdError)) return next(error);
  const [status, retryAfter] = refusal(error);
  if (retryAfter !== undefined) response.set('Retry-After', String(retryAfter));
  return response.status(status).json({ code: error.code, message: error.message });
});

const server = app.listen(process.env.PORT ?? 3000, () => console.log(`listening on ${server.address().port}`));

process.on('SIGTERM', () => {
  server.close(async () => {
    await locks.close();
    process.exit(0);
  });
});
