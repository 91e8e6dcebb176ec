// The examples are well formed, and the one that needs nothing else runs.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { LockManager } from 'leasehold';
import { noServers, servers } from './help.mjs';

const examples = fileURLToPath(new URL('../examples/', import.meta.url));

test('each example is well formed', () => {
  const names = readdirSync(examples);
  assert.ok(names.length >= 3);
  for (const name of names) {
    const { status, stderr } = spawnSync(process.execPath, ['--check', examples + name], { encoding: 'utf8' });
    assert.equal(status, 0, `${name}: ${stderr}`);
  }
});

test('the job of cron is done once a day', { skip: noServers }, async (t) => {
  const { nodes } = await servers(t, 3, LockManager);
  const env = { ...process.env, LEASEHOLD_NODES: nodes.join(',') };
  const run = () => spawnSync(process.execPath, [`${examples}cron.mjs`], { env, encoding: 'utf8' });
  const first = run();
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stdout, /^page 1, token \d+\npage 2, .*\npage 3, .*\nreported\n$/);
  const second = run();
  assert.match(second.stdout, /^it was done today by pid \d+ on /);
  assert.equal(second.status, 0, second.stderr);
});
