// The package as it is installed.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { folder } from './help.mjs';

const require = createRequire(import.meta.url);
const root = dirname(require.resolve('leasehold/package.json'));

test('it needs no other package, and has the native half for this machine', () => {
  const manifest = require('leasehold/package.json');
  assert.equal(manifest.dependencies, undefined);
  const name = require(join(root, 'lib/platform.js'));
  assert.ok(readdirSync(join(root, 'lib')).includes(name), name);
});

test('each entry has its file and its declarations', () => {
  const { exports } = require('leasehold/package.json');
  for (const [entry, conditions] of Object.entries(exports)) {
    if (typeof conditions === 'string') continue;
    for (const { types, default: file } of Object.values(conditions)) {
      const there = readdirSync(join(root, 'lib'));
      assert.ok(there.includes(types.slice('./lib/'.length)), `${entry}: ${types}`);
      assert.ok(there.includes(file.slice('./lib/'.length)), `${entry}: ${file}`);
    }
  }
});

test('what is missing on another machine is told', (t) => {
  const copy = folder(t);
  cpSync(join(root, 'lib'), join(copy, 'lib'), { recursive: true });
  const name = require(join(root, 'lib/platform.js'));
  rmSync(join(copy, 'lib', name));
  const source = `
    try { require(${JSON.stringify(join(copy, 'lib/index.js'))}); } catch (error) { console.log(error.code, error.message); }
  `;
  const { stdout } = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8' });
  assert.match(stdout, /^ERR_LEASEHOLD_NATIVE leasehold: this package was built without leasehold\..*\.node, which/);
  assert.ok(stdout.includes(name));
  cpSync(join(root, 'package.json'), join(copy, 'lib', name));
  const broken = spawnSync(process.execPath, ['-e', source], { encoding: 'utf8' });
  assert.match(broken.stdout, /^ERR_LEASEHOLD_NATIVE leasehold: leasehold\..* cannot be loaded/);
});
