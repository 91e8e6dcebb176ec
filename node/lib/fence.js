'use strict';
// Fenced writes: a resource that has seen a newer token refuses. Statements and values for clients of your choice.

const native = require('./native.js');
const { StaleError, checked, config } = require('./errors.js');
const { shown, text } = require('./options.js');

function token(value) {
  if (typeof value !== 'bigint' || value <= 0n) {
    throw config(`a fencing token is a bigint above 0n, as lease.fencingToken is, and not ${shown(value)}`);
  }
  return value;
}

function stale(of, newest) {
  const seen = newest === undefined ? 'a newer one' : newest;
  return new StaleError(
    `write with token ${of}: the resource has seen ${seen}; the lock has gone to somebody else`,
    { code: 'ERR_LEASEHOLD_STALE', token: of, newest },
  );
}

/** A resource in this process. */
class Fence {
  #newest;

  constructor(newest) {
    this.#newest = newest === undefined ? undefined : token(newest);
  }

  get newest() {
    return this.#newest;
  }

  admit(of) {
    if (this.#newest !== undefined && token(of) < this.#newest) throw stale(of, this.#newest);
    this.#newest = token(of);
  }
}

function checkRows(of, affected) {
  // A field of the result that is misspelt is undefined, and must not let every write pass.
  if (typeof affected === 'bigint' ? affected < 0n : !Number.isInteger(affected) || affected < 0) {
    throw config(`the number of changed rows is a whole number from 0, and not ${shown(affected)}`);
  }
  token(of);
  if (Number(affected) === 0) throw stale(of);
}

function checkNewest(of, newest) {
  const seen = BigInt(newest ?? 0);
  if (seen !== token(of)) throw stale(of, seen > of ? seen : undefined);
}

function isMySql(dialect) {
  return dialect === 'mysql' || dialect === 'mariadb';
}

class RowFence {
  #how;

  constructor({ dialect, table, key, fence }) {
    this.#how = [text('dialect', dialect), text('table', table), text('key', key), text('fence', fence)];
    this.#statements([]);
  }

  #statements(columns) {
    return checked(() => native.rowFence(...this.#how, columns));
  }

  get addColumn() {
    return this.#statements([])[0];
  }

  update(row, columns, of) {
    const names = Object.keys(columns);
    const values = [...Object.values(columns), token(of), row];
    // Where places have no numbers, the token stands twice.
    if (isMySql(this.#how[0])) values.push(of);
    return { text: this.#statements(names)[1], values };
  }

  newest(row) {
    return { text: this.#statements([])[2], values: [row] };
  }
}

class FenceTable {
  #dialect;
  #statements;

  constructor({ dialect, table }) {
    this.#dialect = text('dialect', dialect);
    this.#statements = checked(() => native.fenceTable(this.#dialect, text('table', table)));
  }

  get create() {
    return this.#statements[0];
  }

  admit(of, tokenOf) {
    const values = [text('name', of), token(tokenOf)];
    if (isMySql(this.#dialect)) values.push(tokenOf);
    return { text: this.#statements[1], values };
  }

  newest(of) {
    return { text: this.#statements[2], values: [text('name', of)] };
  }
}

class FencedScript {
  constructor(script) {
    this.script = native.fencedScript(text('script', script));
  }

  call(fence, of, { keys = [], args = [] } = {}) {
    return { script: this.script, keys: [...keys, text('fence', fence)], args: [...args, String(token(of))] };
  }
}

function setIfNewest(key, fence, of, value) {
  return { script: native.setIfNewest(), keys: [key, fence], args: [value, String(token(of))] };
}

function staleOf(of, error) {
  const found = /\bSTALE\s+(\d+)/.exec(String(error?.message ?? error));
  return found === null ? undefined : stale(token(of), BigInt(found[1]));
}

module.exports = {
  Fence,
  FenceTable,
  FencedScript,
  RowFence,
  StaleError,
  checkNewest,
  checkRows,
  setIfNewest,
  staleOf,
};
