"""Fenced writes: late holders are refused."""

from __future__ import annotations

import sqlite3

import pytest

from leasehold import LockManager
from leasehold.fence import Fence, FencedScript, FenceTable, RowFence, Stale


def tokens() -> tuple[int, int]:
    manager = LockManager.memory(3)
    first = manager.lock("account/7").acquire()
    first.release()
    return first.fencing_token, manager.lock("account/7").acquire().fencing_token


@pytest.mark.parametrize("style", ["qmark", "numeric", "named"])
def test_a_late_holder_cannot_write_the_row(style: str) -> None:
    early, late = tokens()
    database = sqlite3.connect(":memory:")
    cursor = database.cursor()
    cursor.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, owner TEXT)")
    cursor.execute("INSERT INTO account VALUES (7, 0, 'nobody')")
    row = RowFence("sqlite", "account", paramstyle=style)
    row.add_column(cursor)
    row.update(cursor, 7, early, {"balance": 1})
    row.update(cursor, 7, late, {"balance": 2, "owner": "late"})
    row.update(cursor, 7, late, {"balance": 3})
    with pytest.raises(Stale) as told:
        row.update(cursor, 7, early, {"balance": 4})
    assert (told.value.token, told.value.newest) == (early, late)
    with pytest.raises(LookupError):
        row.update(cursor, 8, late, {"balance": 4})
    assert cursor.execute("SELECT balance, owner FROM account").fetchall() == [(3, "late")]


@pytest.mark.parametrize("style", ["qmark", "numeric", "named"])
def test_a_late_holder_does_not_pass_the_table(style: str) -> None:
    early, late = tokens()
    database = sqlite3.connect(":memory:")
    cursor = database.cursor()
    fences = FenceTable("sqlite", paramstyle=style)
    fences.create(cursor)
    fences.create(cursor)
    assert fences.newest(cursor, "account/7") is None
    fences.admit(cursor, "account/7", early)
    fences.admit(cursor, "account/7", late)
    fences.admit(cursor, "account/7", late)
    with pytest.raises(Stale, match="account/7") as told:
        fences.admit(cursor, "account/7", early)
    assert told.value.newest == late == fences.newest(cursor, "account/7")
    fences.admit(cursor, "account/8", early)


class _Recorder:
    """A cursor that notes what it is asked, and answers as MySQL or PostgreSQL would."""

    def __init__(self, rowcount: int, row: object) -> None:
        self.rowcount, self.row = rowcount, row
        self.said: list[tuple[str, object]] = []

    def execute(self, operation: str, parameters: object = (), /) -> None:
        self.said.append((operation, parameters))

    def fetchone(self) -> object:
        return self.row


def test_where_a_module_does_not_count_rows_the_newest_token_is_read() -> None:
    fence = RowFence("postgresql", "account", paramstyle="pyformat")
    fence.update(_Recorder(-1, (33,)), 7, 33, {"balance": 5})
    with pytest.raises(Stale):
        fence.update(_Recorder(-1, (40,)), 7, 33, {"balance": 5})
    with pytest.raises(Stale):
        FenceTable("postgresql", paramstyle="pyformat").admit(_Recorder(-1, (40,)), "a", 33)


def test_statements_are_in_the_style_of_the_module() -> None:
    cursor = _Recorder(1, None)
    RowFence("postgresql", "account", paramstyle="pyformat").update(cursor, 7, 33, {"balance": 5})
    assert cursor.said == [
        ("UPDATE account SET balance = %s, fence = %s WHERE id = %s AND fence <= %s", (5, 33, 7, 33))
    ]
    cursor = _Recorder(2, (33,))
    FenceTable("mysql", paramstyle="format").admit(cursor, "a", 33)
    assert cursor.said[0][1] == ("a", 33, 33) and "%s" in cursor.said[0][0] and "?" not in cursor.said[0][0]
    assert cursor.said[1][1] == ("a",)
    cursor = _Recorder(0, (34,))
    with pytest.raises(Stale):
        RowFence("mysql", "account", paramstyle="format").update(cursor, 7, 33, {"balance": 5})
    assert cursor.said[0][1] == (5, 33, 7, 33)
    # The same write again: MySQL counts no row that did not change.
    RowFence("mysql", "account", paramstyle="format").update(_Recorder(0, (33,)), 7, 33, {"balance": 5})
    with pytest.raises(ValueError):
        FenceTable("sqlite", "bad name")
    with pytest.raises(ValueError):
        FenceTable("oracle")
    with pytest.raises(ValueError):
        FenceTable("sqlite", paramstyle="other")


def test_a_program_that_is_the_resource_remembers() -> None:
    fence = Fence()
    fence.admit(3)
    fence.admit(5)
    fence.admit(5)
    with pytest.raises(Stale):
        fence.admit(4)
    assert fence.newest == 5


def test_a_late_holder_cannot_write_to_redis(urls: list[str]) -> None:
    redis = pytest.importorskip("redis", reason="redis-py is not here: fenced scripts are not tried")
    client = redis.Redis.from_url(urls[0], decode_responses=True)
    write = FencedScript()
    write(client, keys=["account/7"], args=["early"], fence="account/7:fence", token=3)
    write(client, keys=["account/7"], args=["late"], fence="account/7:fence", token=5)
    with pytest.raises(Stale) as told:
        write(client, keys=["account/7"], args=["early again"], fence="account/7:fence", token=3)
    assert told.value.newest == 5 and client.get("account/7") == "late"
    add = FencedScript("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    assert add(client, keys=["n"], args=[10], fence="n:fence", token=7) == 10
    with pytest.raises(redis.ResponseError):
        FencedScript("return redis.call('NOSUCH')")(client, keys=[], fence="f", token=1)
    client.close()
