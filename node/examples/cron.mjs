// A job of cron on many machines, done once a day by one of them:
//
//   5 3 * * *  LEASEHOLD_NODES=redis://db1,redis://db2,redis://db3 node /srv/app/cron.mjs
//
// Whoever comes first does it; the others wait while it runs, and do it if it fails. Ends with 0 if the work is
// done, by whomever, and with 1 if it is not.

import { LockManager } from 'leasehold';

const DAY = 24 * 3_600_000;

// Servers, since what one process has done must be known when it has ended: a file keeps nothing for a process
// that is gone.
const locks = LockManager.fromEnv();

// What is held is given back when the process ends, but not if a signal ends it.
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
])
  process.on(signal, () => process.exit(code));

try {
  const { ran, by } = await locks.oncePer('nightly-report', DAY).run({ timeout: 3_600_000 }, report);
  console.log(ran ? 'reported' : `it was done today by ${by?.text ?? 'another'}`);
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
} finally {
  await locks.close();
}

async function report(turn, signal) {
  for (let page = 1; page <= 3; page += 1) {
    // Another machine may be at it once the lease is lost.
    signal.throwIfAborted();
    console.log(`page ${page}, token ${turn.fencingToken}`);
  }
}
