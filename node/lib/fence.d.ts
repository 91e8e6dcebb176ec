import { StaleError } from './types/errors';

export { StaleError };

export type Dialect = 'postgresql' | 'mysql' | 'mariadb' | 'sqlite';

/** For `client.query(statement.text, statement.values)`, as `pg` has it. */
export interface Statement {
  text: string;
  values: unknown[];
}

/** For `EVAL script keys.length ...keys ...args`. It answers what the script does, or the error `STALE 34`. */
export interface ScriptCall {
  script: string;
  keys: string[];
  args: string[];
}

/** A program that is itself the resource: admits tokens that are not smaller than the newest. */
export class Fence {
  constructor(newest?: bigint);
  readonly newest: bigint | undefined;
  /** Throws `StaleError`. */
  admit(token: bigint): void;
}

/** A table whose rows have a column for the newest token. */
export class RowFence {
  /** Throws `ConfigError` for names that are none. */
  constructor(names: { dialect: Dialect; table: string; key: string; fence: string });
  /** The statement that adds the column. */
  readonly addColumn: string;
  /** Writes these columns of a row, if the token is not stale. No changed row: `checkRows` throws. */
  update(row: unknown, columns: Record<string, unknown>, token: bigint): Statement;
  /** Reads the newest token of a row; with MySQL and MariaDB in the same transaction, for `checkNewest`. */
  newest(row: unknown): Statement;
}

/** A table of the newest token of each lock, for a transaction that writes elsewhere. */
export class FenceTable {
  constructor(names: { dialect: Dialect; table: string });
  readonly create: string;
  /** In the transaction of the write, before it. No changed row: `checkRows` throws. */
  admit(name: string, token: bigint): Statement;
  newest(name: string): Statement;
}

/** Throws `StaleError` if no row was changed, `ConfigError` if `affected` is no count. Not for MySQL and MariaDB. */
export function checkRows(token: bigint, affected: number | bigint): void;
/** Throws `StaleError` if the newest token that was read back is not ours. */
export function checkNewest(token: bigint, newest: number | bigint | string): void;

/** A script of yours that runs only if the token is not stale. Its own keys and arguments come first. */
export class FencedScript {
  constructor(script: string);
  readonly script: string;
  call(fence: string, token: bigint, own?: { keys?: string[]; args?: string[] }): ScriptCall;
}

/** Sets `key`, if the token is not smaller than the newest, which the key `fence` remembers. */
export function setIfNewest(key: string, fence: string, token: bigint, value: string): ScriptCall;

/** The `StaleError` that an error of the Redis client means, or undefined if it means another. */
export function staleOf(token: bigint, error: unknown): StaleError | undefined;
