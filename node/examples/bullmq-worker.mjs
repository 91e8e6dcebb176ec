// A worker of BullMQ whose jobs for one customer run one at a time, on all machines; BullMQ itself limits a
// queue only.
//
//   npm install bullmq; REDIS=localhost:6379 LEASEHOLD_NODES=… node bullmq-worker.mjs

import { DelayedError, Worker } from 'bullmq';
import { HeldError, LockManager } from 'leasehold';

const locks = LockManager.fromEnv();
const [host, port] = (process.env.REDIS ?? 'localhost:6379').split(':');

const worker = new Worker('invoices', handle, { connection: { host, port: Number(port) }, concurrency: 8 });

async function handle(job, token) {
  try {
    return await locks.using(`customer/${job.data.customer}`, { timeout: 500 }, (lease, signal) =>
      invoice(job, lease, signal),
    );
  } catch (error) {
    if (!(error instanceof HeldError)) throw error; // a loss too: BullMQ tries the job again
    // Another job of the customer runs. This one comes again later, and its place is free for others meanwhile.
    await job.moveToDelayed(Date.now() + Math.min(error.remaining ?? 1_000, 5_000), token);
    throw new DelayedError();
  }
}

async function invoice(job, lease, signal) {
  for (const line of job.data.lines) {
    signal.throwIfAborted();
    await job.log(`${line}, token ${lease.fencingToken}`);
  }
  return { lines: job.data.lines.length };
}

process.on('SIGTERM', async () => {
  await worker.close();
  await locks.close();
  process.exit(0);
});
