"""The world for tests, as a test uses it."""

from __future__ import annotations

import pytest

import leasehold
from leasehold.testing import World


def test_time_stands_still_until_it_is_told(leasehold_world: World) -> None:
    lease = leasehold_world.manager().lock("orders/42").acquire()
    assert leasehold_world.holder("orders/42") is not None
    leasehold_world.node(0).down("no route")
    leasehold_world.advance(3600)
    assert lease.valid and leasehold_world.now >= 3600
    leasehold_world.node(0).up()
    leasehold_world.lose("orders/42")
    assert not lease.valid and lease.lost is not None


def test_nodes_can_be_broken_and_mended() -> None:
    world = World(3)
    lock = world.manager().lock("a", give_up_unreachable_after=1)
    world.node(0).down("no route")
    world.node(1).down("no route")
    with pytest.raises(leasehold.Unreachable) as told:
        lock.try_acquire()
    assert {(fault.node, fault.kind) for fault in told.value.nodes} == {("node #0", "down"), ("node #1", "down")}
    assert "no route" in told.value.nodes[0].reason
    world.node(0).up()
    lock.acquire(0).release()
    world.node(0).hang()
    world.node(0).resume()
    lease = lock.acquire(0)
    world.node(2).answer_after(0.001)
    world.node(1).up()
    world.node(0).lose_key("a")
    world.node(2).lose_everything()
    world.advance(20)
    assert lease.lost is not None and lease.lost.cause == "gone"


def test_who_waits_for_what_nobody_lets_come_is_told(leasehold_world: World) -> None:
    leasehold_world.give_up_after(0.2)
    lock = leasehold_world.manager().lock("a")
    kept = lock.acquire(0)
    with pytest.raises(AssertionError, match="a"):
        lock.acquire(5)
    kept.release()


def test_a_node_that_is_not_there_is_an_error(leasehold_world: World) -> None:
    with pytest.raises(IndexError):
        leasehold_world.node(3)
    with pytest.raises(ValueError):
        World(0)


def test_a_test_sees_who_reads_and_who_has_permits(leasehold_world: World) -> None:
    manager = leasehold_world.manager()
    permit = manager.semaphore("gpu", 2).acquire()
    reader = manager.rwlock("doc").read().acquire()
    lease = manager.lock("leader").acquire()
    leasehold_world.settle()
    assert {slot: holder.owner for slot, holder in leasehold_world.permits("gpu").items()} == {
        permit.slot: permit.owner
    }
    assert [holder.owner for holder in leasehold_world.readers("doc")] == [reader.owner]
    held = leasehold_world.until_held("leader", 5)
    assert held is not None and held.owner == lease.owner
    assert manager.semaphore("gpu", 2).permits == 2 and manager.lock_all(["b", "a"]).names == ["a", "b"]
