"""The same for tasks of asyncio: waiting, cancelling, and losing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

import pytest

import leasehold
from leasehold import MemoryNode
from leasehold.aio import Leadership, LockManager
from leasehold.testing import World


def in_a_loop(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        async def limited() -> None:
            await asyncio.wait_for(test(*given, **named), 60)

        asyncio.run(limited())

    return run


@in_a_loop
async def test_a_lock_is_held_in_a_block_and_free_after_it() -> None:
    async with LockManager.memory(3) as manager:
        async with manager.lock("orders/42", timeout=5) as lease:
            assert lease.valid and lease.fencing_token > 0
            with pytest.raises(leasehold.Held) as told:
                await manager.lock("orders/42").try_acquire()
            assert told.value.holder is not None
        assert lease.state == "released"
        again = await manager.lock("orders/42")
        await again.extend()
        assert (await again.release()).is_released


@in_a_loop
async def test_the_body_is_cancelled_when_the_lease_is_lost() -> None:
    manager = LockManager.memory(3, log=False)
    steps: list[str] = []
    with pytest.raises(leasehold.LeaseLost) as told:
        async with manager.lock("a") as lease:
            await manager.force_release("a")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                steps.append("cancelled")
                assert not lease.valid
                raise
            steps.append("went on")
    assert steps == ["cancelled"] and told.value.cause == "gone"
    task = asyncio.current_task()
    assert task is not None
    assert not hasattr(task, "cancelling") or task.cancelling() == 0
    await asyncio.sleep(0.01)


@in_a_loop
async def test_a_cancellation_from_outside_stays_one() -> None:
    manager = LockManager.memory(3)
    entered = asyncio.Event()

    async def work() -> None:
        async with manager.lock("a"):
            entered.set()
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await (await manager.lock("a").acquire(2)).release()


@in_a_loop
async def test_only_the_block_whose_lease_is_lost_says_so() -> None:
    manager = LockManager.memory(3, log=False)
    async with manager.lock("outer") as outer:
        with pytest.raises(leasehold.LeaseLost, match="inner"):
            async with manager.lock("inner"):
                await manager.force_release("inner")
                await asyncio.sleep(30)
        await asyncio.sleep(0.01)
        assert outer.valid
    with pytest.raises(leasehold.LeaseLost, match="outer"):
        async with manager.lock("outer"):
            async with manager.lock("inner"):
                await manager.force_release("outer")
                await asyncio.sleep(30)
    for name in ("outer", "inner"):
        await (await manager.lock(name).acquire(2)).release()


@in_a_loop
async def test_a_block_that_swallows_the_cancellation_is_told_all_the_same() -> None:
    manager = LockManager.memory(3, log=False)
    with pytest.raises(leasehold.LeaseLost):
        async with manager.lock("a"):
            await manager.force_release("a")
            try:
                await asyncio.sleep(30)
            except asyncio.CancelledError:
                pass


@in_a_loop
async def test_a_task_that_is_cancelled_while_it_waits_loses_no_lock() -> None:
    manager = LockManager.memory(3)
    lease = await manager.lock("a")
    waiting = asyncio.create_task(manager.lock("a", timeout=None).acquire())
    await asyncio.sleep(0.05)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    await lease.release()
    await (await manager.lock("a").try_acquire()).release()


@in_a_loop
async def test_a_lock_that_comes_as_the_task_is_cancelled_is_given_back() -> None:
    manager = LockManager.memory(3)
    for turn in range(300):
        task = asyncio.create_task(manager.lock("a", timeout=None).acquire())
        for _ in range(turn % 7):
            await asyncio.sleep(0)
        if turn % 3 == 0:
            await asyncio.sleep(0.0003)
        task.cancel()
        try:
            await (await task).release()
        except asyncio.CancelledError:
            pass
        del task
    await (await manager.lock("a").acquire(2)).release()


@in_a_loop
async def test_many_tasks_wait_without_a_thread_each() -> None:
    manager = LockManager.memory(3)
    before = threading.active_count()
    inside, most = 0, 0

    async def work(number: int) -> None:
        nonlocal inside, most
        async with manager.lock(f"a{number % 4}", timeout=None):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    tasks = [asyncio.create_task(work(number)) for number in range(200)]
    await asyncio.sleep(0.01)
    assert threading.active_count() <= before + 1
    await asyncio.gather(*tasks)
    assert 1 <= most <= 4


@in_a_loop
async def test_tasks_that_share_a_lock_object_have_a_lease_each() -> None:
    manager = LockManager.memory(3)
    lock = manager.semaphore("s", 3)
    slots: set[int] = set()
    all_in = asyncio.Event()

    async def work() -> None:
        async with lock as permit:
            slots.add(permit.slot)
            if len(slots) == 3:
                all_in.set()
            await all_in.wait()

    await asyncio.gather(*(work() for _ in range(3)))
    assert slots == {0, 1, 2}


@in_a_loop
async def test_all_kinds_are_here_as_for_threads() -> None:
    nodes = [MemoryNode() for _ in range(3)]
    manager, other = LockManager.memory_nodes(nodes), LockManager.memory_nodes(nodes)
    async with manager.lock_all(["x", "y"]) as both:
        assert both.names == ["x", "y"]
    prices = manager.rwlock("prices")
    async with prices.write() as writer:
        reader = await writer.downgrade()
    async with prices.read(timeout=0):
        await reader.release()
    hourly = manager.lock("report", once_per=3600)
    async with hourly:
        pass
    with pytest.raises(leasehold.AlreadyDone):
        async with hourly:
            raise AssertionError("it was done")
    async with manager.election("e") as leadership:
        assert leadership.is_leader
        assert (await other.election("e").leader()).kind == "led"
        async for state in other.election("e").observe():
            assert state.kind == "led"
            break
    owner = await (await manager.lock("d")).detach()
    assert await manager.detached("d", owner).extend(20) > 19
    assert (await manager.detached("d", owner).release()).is_released
    text = await (await manager.lock("h")).hand_over()
    await (await other.adopt(text)).release()
    assert (await manager.inspect("h")).is_free
    assert await manager.shutdown() == 0


@in_a_loop
async def test_a_leader_that_loses_campaigns_again() -> None:
    manager = LockManager.memory(3, log=False)
    lost: list[leasehold.LeaseLost] = []

    async def work(leadership: Leadership) -> str:
        if not lost:
            await manager.force_release("e")
            await asyncio.sleep(30)
        return "done"

    assert await manager.election("e").lead_repeatedly(work, lost.append) == "done"
    assert len(lost) == 1


@in_a_loop
async def test_the_loss_of_another_lock_ends_the_work_of_a_leader() -> None:
    manager = LockManager.memory(3, log=False)

    async def work(leadership: Leadership) -> None:
        async with manager.lock("inner"):
            await manager.force_release("inner")

    with pytest.raises(leasehold.LeaseLost) as told:
        await manager.election("e").lead_repeatedly(work)
    assert told.value.name == "inner"


@in_a_loop
async def test_who_waits_for_a_change_keeps_nobody_from_giving_back() -> None:
    manager = LockManager.memory(3)
    lease = await manager.lock("a").acquire()
    waiter = asyncio.create_task(lease.changed())
    await asyncio.sleep(0.1)
    assert (await asyncio.wait_for(lease.release(), 10)).is_released
    assert await asyncio.wait_for(waiter, 10) == "released"


@in_a_loop
async def test_a_task_has_one_block_of_a_lock_at_a_time() -> None:
    permits = LockManager.memory(3).semaphore("gpu", 4)
    async with permits as one:
        with pytest.raises(leasehold.ConfigError, match="make a lock for each block"):
            await permits.__aenter__()
        async with await permits.acquire() as two:
            assert one.slot != two.slot
        assert one.valid


@in_a_loop
async def test_a_lease_that_is_lost_is_not_entered() -> None:
    manager = LockManager.memory(3, log=False)
    lease = await manager.lock("a", ttl=0.1, max_hold=0.2).acquire()
    await lease.wait_lost()
    with pytest.raises(leasehold.LeaseLost):
        async with lease:
            raise AssertionError("it is lost")
    # Nothing is cancelled afterwards.
    await asyncio.sleep(0)


def test_a_manager_serves_one_loop_after_another() -> None:
    manager = LockManager.memory(3)

    async def once() -> int:
        async with manager.lock("a") as lease:
            return lease.fencing_token

    assert asyncio.run(once()) < asyncio.run(once())


@in_a_loop
async def test_the_loss_is_told_by_the_clock_in_the_time_of_a_world() -> None:
    world = World(3)
    manager = world.aio_manager(ttl=10)
    with pytest.raises(leasehold.LeaseLost) as told:
        async with manager.lock("a"):
            world.node(0).hang()
            world.node(1).hang()
            await world.async_advance(20)
            await asyncio.sleep(30)
    assert told.value.cause == "timed_out"
