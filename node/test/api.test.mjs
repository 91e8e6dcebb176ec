// The table of names: what it names exists, and it names all that the library has.

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import * as leasehold from 'leasehold';
import * as fence from 'leasehold/fence';
import * as testing from 'leasehold/testing';

const beside = new URL('../api-table.md', import.meta.url);
const file = process.env.LEASEHOLD_API_TABLE ?? beside;
const sources = new URL('../../crates/leasehold/src/', import.meta.url);
const root = process.env.LEASEHOLD_SOURCES ?? sources;
const noSources = existsSync(root) ? false : 'the sources of the library are not beside this package';

const rows = readFileSync(file, 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => /^\| `([^`]+)` \| (.*) \|$/.exec(line).slice(1));

const { LockManager, World } = { ...leasehold, ...testing };

function knownOptions(refused) {
  return /known are (.*)$/.exec(refused.message)[1].split(', ');
}

/** What has the members that are no functions of a prototype. */
async function instances() {
  const locks = LockManager.memory(3);
  const writer = await locks.rwlock('w').write();
  const all = {
    Election: locks.election('e'),
    OncePer: locks.oncePer('o', 60_000),
    RwLock: locks.rwlock('r'),
    Semaphore: locks.semaphore('s', 2),
  };
  await writer.release();
  await locks.close();
  return all;
}

test('each name of the table exists', async () => {
  const locks = LockManager.memory(1);
  const options = new Set([
    ...knownOptions(await locks.acquire('a', { unknown: 1 }).catch((error) => error)),
    ...knownOptions(
      (() => {
        try {
          return LockManager.memory(1, { unknown: 1 });
        } catch (error) {
          return error;
        }
      })(),
    ),
  ]);
  await locks.close();
  const made = await instances();
  const modules = { fence, testing, leasehold };
  for (const [rust, node] of rows) {
    if (node.startsWith('— ') || node === 'options are objects') continue;
    const option = /^option `(\w+)`$/.exec(node);
    if (option !== null) {
      assert.ok(options.has(option[1]), `${rust}: there is no option ${option[1]}`);
      continue;
    }
    const found = /^`(?:new )?(?:(fence|testing)\.)?(\w+)(?:([#.])(\w+))?`$/.exec(node);
    assert.notEqual(found, null, `${rust}: ${node}`);
    const [, module = 'leasehold', name, sort, member] = found;
    const value = modules[module][name];
    assert.equal(typeof value, 'function', `${rust}: there is no ${name}`);
    if (sort === '.') assert.equal(typeof value[member], 'function', `${rust}: there is no ${name}.${member}`);
    if (sort === '#') {
      const isThere = member in value.prototype || (made[name] !== undefined && member in made[name]);
      const isField = ['name', 'value'].includes(member) && name === 'TimestampLease';
      assert.ok(isThere || isField, `${rust}: there is no ${name}#${member}`);
    }
  }
});

const files =
  'manager builder builder/copies builder/operated mutex guard work once hand_over detached rwlock rwlock/read_guard ' +
  'rwlock/write_guard rwlock/work semaphore semaphore/permit_guard election election/leaders election/leadership ' +
  'inspection inspection/permits options config operate operate/operator operate/admission operate/watcher ' +
  'operate/listing operate/reconfiguration timestamp timestamp/guard timestamp/options testing/world testing/node ' +
  'testing/world/permits testing/world/readers fence fence/redis fence/sql fence/sql/row fence/sql/table';

/** The public functions of a file, as `Type::function`. */
function functions(name) {
  const found = [];
  let type = '';
  const path = root instanceof URL ? new URL(`${name}.rs`, root) : `${root}/${name}.rs`;
  for (const line of readFileSync(path, 'utf8').split('\n')) {
    if (line.startsWith('mod tests')) break;
    type = /^impl(?:<[^>]*>)?\s+(?:\S+ for )?(\w+)/.exec(line)?.[1] ?? type;
    const method = /^    pub (?:const |async )*fn (\w+)/.exec(line);
    if (method !== null) found.push(`${type}::${method[1]}`);
    const free = /^pub (?:const |async )*fn (\w+)/.exec(line);
    if (free !== null) found.push(`${name.replaceAll('/', '::')}::${free[1]}`);
  }
  return found;
}

test('each public function of the library has its row', { skip: noSources }, () => {
  const named = new Set(rows.map(([rust]) => rust));
  const there = files.split(' ').flatMap(functions);
  assert.ok(there.length > 250, 'they are found');
  const missing = there.filter((name) => !named.has(name));
  assert.deepEqual(missing, []);
});
