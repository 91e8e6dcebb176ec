// Statements and values of fenced writes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ConfigError, StaleError as Stale } from 'leasehold';
import { Fence, FenceTable, RowFence, StaleError, checkNewest, checkRows } from 'leasehold/fence';

test('a fence refuses what is older than the newest', () => {
  const fence = new Fence();
  fence.admit(33n);
  fence.admit(33n);
  fence.admit(34n);
  assert.throws(
    () => fence.admit(33n),
    (error) => error instanceof StaleError && error.token === 33n && error.newest === 34n,
  );
  assert.equal(fence.newest, 34n);
  assert.throws(() => new Fence(5n).admit(4n), Stale);
  assert.throws(() => fence.admit(35), ConfigError);
  assert.throws(() => fence.admit(0n), ConfigError);
});

test('a row is written if its token is not newer', () => {
  const names = { table: 'account', key: 'id', fence: 'fence' };
  const row = new RowFence({ dialect: 'postgresql', ...names });
  assert.equal(row.addColumn, 'ALTER TABLE account ADD COLUMN fence BIGINT NOT NULL DEFAULT 0');
  assert.deepEqual(row.update(7, { balance: 90 }, 33n), {
    text: 'UPDATE account SET balance = $1, fence = $2 WHERE id = $3 AND fence <= $2',
    values: [90, 33n, 7],
  });
  assert.deepEqual(row.newest(7), { text: 'SELECT fence FROM account WHERE id = $1', values: [7] });
  const mysql = new RowFence({ dialect: 'mariadb', ...names });
  assert.deepEqual(mysql.update(7, { balance: 90 }, 33n), {
    text: 'UPDATE account SET balance = ?, fence = ? WHERE id = ? AND fence <= ?',
    values: [90, 33n, 7, 33n],
  });
  assert.throws(() => new RowFence({ dialect: 'oracle', ...names }), /known are postgresql/);
  assert.throws(() => new RowFence({ dialect: 'sqlite', ...names, table: 'a; b' }), ConfigError);
  assert.throws(() => row.update(7, { fence: 1 }, 33n), ConfigError);
});

test('a table of tokens has as many values as places', () => {
  for (const [dialect, places] of [
    ['postgresql', 2],
    ['sqlite', 2],
    ['mysql', 3],
  ]) {
    const table = new FenceTable({ dialect, table: 'fences' });
    const { text, values } = table.admit('orders/42', 33n);
    assert.equal(values.length, places);
    const used = dialect === 'mysql' ? text.match(/\?/g).length : new Set(text.match(/[$?]\d/g)).size;
    assert.equal(used, places);
    assert.match(table.create, /^CREATE TABLE IF NOT EXISTS fences/);
    assert.deepEqual(table.newest('orders/42').values, ['orders/42']);
  }
});

test('what databases answer tells a stale token', () => {
  checkRows(33n, 1);
  checkNewest(33n, '33');
  assert.throws(() => checkRows(33n, 0), StaleError);
  assert.throws(
    () => checkNewest(33n, 34),
    (error) => error.newest === 34n,
  );
});

test('what is no number of rows is refused', () => {
  for (const affected of [undefined, null, 'x', '1', {}, { rowCount: 1 }, [], true, -1, -1n, 0.5, NaN, Infinity]) {
    assert.throws(
      () => checkRows(33n, affected),
      (error) => error instanceof ConfigError && /number of changed rows .*, and not /.test(error.message),
      String(affected),
    );
  }
  for (const affected of [1, 2, 1n]) checkRows(33n, affected);
  for (const affected of [0, -0, 0n]) assert.throws(() => checkRows(33n, affected), StaleError);
  assert.throws(() => checkRows(undefined, 1), ConfigError);
});

const sqlite = await import('sql.js').catch(() => undefined);

test('SQLite refuses the write of a late holder', { skip: sqlite ? false : 'no sql.js' }, async () => {
  const { Database } = await sqlite.default();
  const database = new Database();
  const changed = ({ text, values }) => {
    database.run(text, values);
    return database.getRowsModified();
  };
  database.run('CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)');
  database.run('INSERT INTO account VALUES (7, 100)');
  const row = new RowFence({ dialect: 'sqlite', table: 'account', key: 'id', fence: 'fence' });
  database.run(row.addColumn);
  // As large as tokens are.
  const [early, late] = [9007199254740990n, 9007199254740991n];
  checkRows(late, changed(row.update(7, { balance: 90 }, late)));
  assert.throws(() => checkRows(early, changed(row.update(7, { balance: 80 }, early))), StaleError);
  checkRows(late, changed(row.update(7, { balance: 85 }, late)));
  const newest = row.newest(7);
  checkNewest(late, database.exec(newest.text, newest.values)[0].values[0][0]);
  assert.deepEqual(database.exec('SELECT balance FROM account')[0].values, [[85]]);
  const table = new FenceTable({ dialect: 'sqlite', table: 'fences' });
  database.run(table.create);
  checkRows(late, changed(table.admit('orders/42', late)));
  assert.throws(() => checkRows(early, changed(table.admit('orders/42', early))), StaleError);
  database.close();
});
