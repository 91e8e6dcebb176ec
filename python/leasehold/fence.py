"""Fenced writes: what a lock protects refuses a holder whose time was up without its knowing.

A fencing token (`Lease.fencing_token`) is larger than that of every holder before. Whatever is written to remembers
the largest token that it has seen, and refuses smaller ones, in the same step as the write.

* `RowFence`: a column in the row that is protected. One statement, no transaction needed.
* `FenceTable`: a table of fences, for everything else; its statement comes first in the transaction that writes.
* `FencedScript`: the same for Redis.
* `Fence`: for a program that is the resource itself.

The classes for databases take a cursor of DB-API 2, and ``paramstyle`` is that of its module: ``sqlite3.paramstyle``,
``psycopg.paramstyle``, ``pymysql.paramstyle``.
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING, Any, Protocol

from . import _native
from ._errors import ConfigError, Stale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Cursor", "Fence", "FenceTable", "FencedScript", "RowFence", "Stale"]


class Cursor(Protocol):
    """What is needed of a cursor of DB-API 2."""

    @property
    def rowcount(self) -> int: ...
    def execute(self, operation: str, parameters: Any = ..., /) -> Any: ...
    def fetchone(self) -> Any: ...


_STYLES = ("qmark", "numeric", "named", "format", "pyformat")
_PLACEHOLDER = {"postgresql": r"\$(\d+)", "sqlite": r"\?(\d+)", "mysql": r"\?()"}


class _Statement:
    """A statement in the style of a module. ``order`` says which parameter each ``?`` of MySQL is."""

    def __init__(self, text: str, dialect: str, style: str, order: Sequence[int] = ()) -> None:
        if style not in _STYLES:
            raise ConfigError(
                f"paramstyle: {style!r} is none; take that of the database's module, as sqlite3.paramstyle"
            )
        self._style = style
        self._order: list[int] = []

        def placeholder(found: re.Match[str]) -> str:
            place = len(self._order)
            self._order.append(int(found[1]) if found[1] else order[place])
            if style == "qmark":
                return "?"
            if style == "named":
                return f":p{self._order[-1]}"
            return f":{place + 1}" if style == "numeric" else "%s"

        self.text = re.sub(_PLACEHOLDER[dialect], placeholder, text)

    def execute(self, cursor: Cursor, *values: Any) -> None:
        if not self._order:
            cursor.execute(self.text)
        elif self._style == "named":
            cursor.execute(self.text, {f"p{number}": values[number - 1] for number in set(self._order)})
        else:
            cursor.execute(self.text, tuple(values[number - 1] for number in self._order))


def _check_newest(token: int, row: Any, name: str) -> None:
    newest = None if row is None else int(row[0])
    if newest != token:
        raise _stale(token, newest if newest is not None and newest > token else None, name)


def _stale(token: int, newest: int | None, name: str) -> Stale:
    seen = "a newer one was seen" if newest is None else f"{newest} was seen"
    return Stale(
        f"the fencing token {token} of {name} is stale: {seen}; roll back", name=name, token=token, newest=newest
    )


class FenceTable:
    """A table with one row for each fence. ``dialect`` is ``postgresql``, ``mysql`` or ``sqlite``."""

    def __init__(self, dialect: str, table: str = "fences", *, paramstyle: str = "qmark") -> None:
        create, admit, newest = _native.fence_table(dialect, table)
        self._dialect = dialect
        self._create = _Statement(create, dialect, paramstyle)
        self._admit = _Statement(admit, dialect, paramstyle, (1, 2, 2))
        self._newest = _Statement(newest, dialect, paramstyle, (1,))

    def create(self, cursor: Cursor) -> None:
        """Creates the table if it is not there."""
        self._create.execute(cursor)

    def admit(self, cursor: Cursor, name: str, token: int) -> None:
        """Lets the token pass, and locks the fence of this name until the transaction ends. The first statement of it.

        Raises `Stale`: then roll back.
        """
        self._admit.execute(cursor, name, token)
        # MySQL counts what changed, so the count tells nothing there.
        if self._dialect == "mysql" or cursor.rowcount < 1:
            _check_newest(token, self._read(cursor, name), name)

    def newest(self, cursor: Cursor, name: str) -> int | None:
        """The newest token that was seen."""
        row = self._read(cursor, name)
        return None if row is None else int(row[0])

    def _read(self, cursor: Cursor, name: str) -> Any:
        self._newest.execute(cursor, name)
        return cursor.fetchone()


class RowFence:
    """A column in the row that is protected: ``fence``, of the row that ``key`` finds."""

    def __init__(
        self, dialect: str, table: str, *, key: str = "id", fence: str = "fence", paramstyle: str = "qmark"
    ) -> None:
        self._of = (dialect, table, key, fence)
        self._style = paramstyle
        add, _, newest = _native.row_fence(*self._of, ["any"])
        self._add = _Statement(add, dialect, paramstyle)
        self._newest = _Statement(newest, dialect, paramstyle, (1,))

    def add_column(self, cursor: Cursor) -> None:
        """Adds the column to the table."""
        self._add.execute(cursor)

    def update(self, cursor: Cursor, key: Any, token: int, values: Mapping[str, Any]) -> None:
        """Writes these columns of the row of this key, unless a newer token was seen.

        Raises `Stale`, or ``LookupError`` if there is no such row.
        """
        dialect, table = self._of[0], self._of[1]
        _, update, _ = _native.row_fence(*self._of, list(values))
        count = len(values)
        # Its parameters: the values, the token, the key; for MySQL the token once more.
        order = (*range(1, count + 1), count + 1, count + 2, count + 1)
        _Statement(update, dialect, self._style, order).execute(cursor, *values.values(), token, key)
        # Where a module does not tell, it is -1.
        if cursor.rowcount > 0:
            return
        self._newest.execute(cursor, key)
        row = cursor.fetchone()
        if row is None:
            raise LookupError(f"{table} has no row {key!r}")
        _check_newest(token, row, f"{table} {key!r}")


class FencedScript:
    """A script of Redis with a fence before it, or, without one, ``SET``. ``KEYS`` and ``ARGV`` are the script's
    own."""

    def __init__(self, script: str = "return redis.call('SET', KEYS[1], ARGV[1])\n") -> None:
        self.text = _native.fenced_script(script)

    def __call__(self, client: Any, *, keys: Sequence[Any], args: Sequence[Any] = (), fence: str, token: int) -> Any:
        """Runs it by ``client.eval``, as redis-py has it. ``fence`` is a key that remembers the token. Raises
        `Stale`."""
        words = [*keys, fence, *args, token]
        try:
            return client.eval(self.text, len(keys) + 1, *words)
        except Exception as error:
            said = re.search(r"STALE\W+(\d+)", str(error))
            if said is None:
                raise
            raise _stale(token, int(said[1]), fence) from error


class Fence:
    """Remembers the newest token, for a program that is the resource itself. Threads may share it."""

    def __init__(self, newest: int | None = None) -> None:
        self._newest = newest
        self._lock = threading.Lock()

    @property
    def newest(self) -> int | None:
        """The newest token that was seen."""
        return self._newest

    def admit(self, token: int) -> None:
        """Lets the token pass, and remembers it. Raises `Stale` if a newer one was seen."""
        with self._lock:
            if self._newest is not None and token < self._newest:
                raise _stale(token, self._newest, "the lock")
            self._newest = token
