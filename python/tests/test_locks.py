"""Locks of all kinds, for threads."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from datetime import timedelta

import pytest

import leasehold
from leasehold import LockManager, MemoryNode


def test_a_lock_is_held_in_a_block_and_free_after_it() -> None:
    with LockManager.memory(3) as manager:
        with manager.lock("orders/42", timeout=5) as lease:
            assert lease.valid and lease.lost is None and lease.state == "held"
            assert 9 < lease.remaining <= 10
            assert (lease.name, lease.names, lease.kind) == ("orders/42", ["orders/42"], "fenced")
            with pytest.raises(leasehold.Held):
                manager.lock("orders/42").try_acquire()
        assert not lease.valid and lease.state == "released" and lease.remaining == 0
        with manager.lock("orders/42").try_acquire() as again:
            assert again.fencing_token > lease.fencing_token


def test_a_refusal_says_who_holds_it_and_for_how_long() -> None:
    import os

    manager = LockManager.memory(3)
    with manager.lock("orders/42"):
        with pytest.raises(leasehold.Held) as told:
            manager.lock("orders/42", timeout=timedelta(milliseconds=50)).acquire()
    held = told.value
    assert held.timed_out and held.name == "orders/42" and held.waited is not None and held.waited >= 0.05
    assert held.holder is not None and held.holder.pid == os.getpid()
    assert held.remaining is not None and 9 < held.remaining <= 10
    assert str(held).startswith('lock "orders/42": gave up after 5') and str(held.holder.pid) in str(held)
    assert isinstance(held, leasehold.AcquireError) and isinstance(held, leasehold.LeaseholdError)


def test_exceptions_can_be_pickled() -> None:
    manager = LockManager.memory(1)
    with manager.lock("a"), pytest.raises(leasehold.Held) as told:
        manager.lock("a").try_acquire()
    copy = pickle.loads(pickle.dumps(told.value))
    assert type(copy) is leasehold.Held and str(copy) == str(told.value)
    assert copy.holder == told.value.holder and copy.remaining == told.value.remaining


def test_what_is_wrong_is_told_by_name() -> None:
    manager = LockManager.memory(3)
    for wrong in (
        lambda: manager.lock(""),
        lambda: manager.lock("a", ttl=-1),
        lambda: manager.lock("a", ttl="soon"),  # type: ignore[arg-type]
        lambda: manager.lock("a", ttl=float("nan")),
        lambda: manager.lock("a", ttl=0.001),
        lambda: manager.lock("a", tries=-1),
        lambda: manager.lock("a", speed=1),  # type: ignore[call-overload]
        lambda: manager.lock("a").acquire(-1),
        lambda: manager.lock_all([]),
        lambda: manager.semaphore("a", 0),
        lambda: LockManager([]),
        lambda: LockManager("redis://db1"),
        lambda: LockManager(["redis://db1"], speed=1),  # type: ignore[call-arg]
        lambda: LockManager(["redis://db1"], restart_guard="maybe"),
        lambda: LockManager(["redis://db1", "redis://db1"]),
        lambda: LockManager(["nonsense://"]),
        lambda: LockManager.file("/dev/null/locks"),
        lambda: LockManager.from_config("/nowhere/leasehold.toml"),
        lambda: manager.detached("a", ""),
    ):
        with pytest.raises(leasehold.ConfigError) as told:
            wrong()
        assert str(told.value)
    with pytest.raises(leasehold.ConfigError, match="ttl: soon is no span of time"):
        manager.lock("a", ttl="soon")  # type: ignore[arg-type]


def test_a_block_that_fails_gives_the_lock_back() -> None:
    manager = LockManager.memory(3)
    with pytest.raises(ZeroDivisionError):
        with manager.lock("a"):
            _ = 1 / 0
    manager.lock("a").try_acquire().release()


def test_a_lease_that_is_forgotten_is_given_back() -> None:
    manager = LockManager.memory(3)
    manager.lock("a").acquire()
    manager.lock("a").acquire(2).release()


def test_a_release_says_what_became_of_it() -> None:
    manager = LockManager.memory(3)
    lease = manager.lock("a").acquire()
    outcome = lease.release()
    assert outcome and outcome.kind == "released"
    assert lease.release().kind == "nothing"
    with pytest.raises(leasehold.LeaseLost) as told:
        lease.extend()
    assert told.value.cause == "released"


def test_a_lock_that_is_taken_away_is_told_at_the_end_of_the_block() -> None:
    manager = LockManager.memory(3, log=False)
    with pytest.raises(leasehold.LeaseLost) as told:
        with manager.lock("a") as lease:
            eviction = manager.force_release("a")
            assert eviction.before.holder is not None and len(eviction.evicted) == 1
            lost = lease.wait_lost(5)
            assert lost is not None and not lease.valid
            with pytest.raises(leasehold.LeaseLost):
                lease.raise_if_lost()
    assert told.value.cause == "gone"
    with pytest.raises(ValueError):
        with manager.lock("a"):
            manager.force_release("a")
            raise ValueError("what the body raises comes first")


def test_a_lease_can_be_extended() -> None:
    manager = LockManager.memory(3)
    with manager.lock("a", ttl=1, renew_every=None) as lease:
        lease.extend(timedelta(seconds=20))
        assert lease.remaining > 15
        lease.ensure(10)
        with pytest.raises(leasehold.ExtendError) as told:
            lease.ensure(60)
        assert told.value.kind == "too_short" and not told.value.is_lost


def test_a_thread_waits_without_the_gil_until_another_gives_the_lock_back() -> None:
    manager = LockManager.memory(3)
    lease = manager.lock("a").acquire()
    got: list[float] = []

    def wait() -> None:
        with manager.lock("a", timeout=10):
            got.append(time.monotonic())

    thread = threading.Thread(target=wait)
    thread.start()
    until, count = time.monotonic() + 0.2, 0
    while time.monotonic() < until:
        count += 1
    assert count > 10_000 and not got
    released = time.monotonic()
    lease.release()
    thread.join(5)
    assert got and got[0] - released < 0.2


def test_a_signal_ends_the_wait_and_loses_no_lock() -> None:
    manager = LockManager.memory(3)
    lease = manager.lock("a").acquire()
    before = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            manager.lock("a", timeout=None).acquire()
        assert time.monotonic() - began < 1
    finally:
        signal.signal(signal.SIGALRM, before)
    lease.release()
    manager.lock("a").try_acquire().release()


def test_of_several_names_all_are_held_or_none() -> None:
    manager = LockManager.memory(3)
    both = manager.lock_all(["account/7", "account/4"])
    with both as lease:
        assert sorted(lease.names) == ["account/4", "account/7"]
        with pytest.raises(leasehold.Held):
            manager.lock("account/4").try_acquire()
    with manager.lock("account/4"), pytest.raises(leasehold.Held):
        both.try_acquire()
    manager.lock("account/7").try_acquire().release()


def test_many_read_or_one_writes() -> None:
    manager = LockManager.memory(3)
    prices = manager.rwlock("prices")
    with prices.read() as one, prices.read() as other:
        assert one.valid and other.valid
        with pytest.raises(leasehold.ConfigError):
            _ = one.fencing_token
        with pytest.raises(leasehold.AcquireError):
            prices.write(timeout=0).acquire()
    with prices.write() as writer:
        assert writer.fencing_token > 0
        with pytest.raises(leasehold.AcquireError):
            prices.read(timeout=0).acquire()
        reader = writer.downgrade()
        assert reader.kind == "read"
        prices.read(timeout=0).acquire().release()
        reader.release()


def test_a_semaphore_has_so_many_permits() -> None:
    manager = LockManager.memory(3)
    gpus = manager.semaphore("gpu", 2, timeout=0)
    with gpus.acquire() as one, gpus.acquire() as other:
        assert {one.slot, other.slot} == {0, 1}
        with pytest.raises(leasehold.Held) as told:
            gpus.acquire()
        assert (told.value.permits, told.value.taken_permits) == (2, 2)
        with pytest.raises(leasehold.OtherPermits):
            manager.semaphore("gpu", 3).acquire(1)
    with gpus as permit:
        assert permit.slot in (0, 1)


def test_work_is_done_once_in_a_period() -> None:
    manager = LockManager.memory(3)
    hourly = manager.lock("report", once_per=3600, timeout=0)
    with pytest.raises(ZeroDivisionError):
        with hourly:
            _ = 1 / 0
    with hourly as turn:
        assert turn.next_period > time.time()
        turn.release()
    with hourly as turn:
        pass
    with pytest.raises(leasehold.AlreadyDone) as told:
        hourly.acquire()
    assert told.value.remaining is not None and 0 < told.value.remaining <= 3600
    with pytest.raises(leasehold.AlreadyDone):
        with hourly:
            raise AssertionError("it was done")


def test_one_leads_and_others_know() -> None:
    nodes = [MemoryNode() for _ in range(3)]
    one = LockManager.memory_nodes(nodes)
    other = LockManager.memory_nodes(nodes)
    assert other.election("scheduler").leader().kind == "no_leader"
    with one.election("scheduler", label="10.0.0.7:80") as leadership:
        assert leadership.is_leader and leadership.term > 0
        state = other.election("scheduler").leader()
        assert (state.kind, state.label) == ("led", "10.0.0.7:80")
        assert next(other.election("scheduler").observe()).kind == "led"
        with pytest.raises(leasehold.Held):
            other.election("scheduler").campaign(0)
        leadership.resign()
    lost: list[leasehold.LeaseLost] = []

    def work(leadership: leasehold.Leadership) -> int:
        if not lost:
            other.force_release("scheduler")
            leadership.wait_lost(5)
            leadership.raise_if_lost()
        return leadership.term

    assert one.election("scheduler").lead_repeatedly(work, lost.append) > 0
    assert len(lost) == 1


def test_the_loss_of_another_lock_ends_the_work_of_a_leader() -> None:
    manager = LockManager.memory(3, log=False)

    def work(leadership: leasehold.Leadership) -> None:
        with manager.lock("inner"):
            manager.force_release("inner")

    with pytest.raises(leasehold.LeaseLost) as told:
        manager.election("e").lead_repeatedly(work)
    assert told.value.name == "inner"


def test_who_waits_for_a_change_keeps_nobody_from_giving_back() -> None:
    nodes = [MemoryNode() for _ in range(3)]
    lease = LockManager.memory_nodes(nodes).lock("a").acquire()
    states: list[str] = []
    waiter = threading.Thread(target=lambda: states.append(lease.changed()))
    waiter.start()
    time.sleep(0.1)
    assert lease.release().is_released
    waiter.join(10)
    assert states == ["released"]
    LockManager.memory_nodes(nodes).lock("a").try_acquire().release()


def test_a_thread_has_one_block_of_a_lock_at_a_time() -> None:
    permits = LockManager.memory(3).semaphore("gpu", 4)
    with permits as one:
        with pytest.raises(leasehold.ConfigError, match="make a lock for each block"):
            permits.__enter__()
        with permits.acquire() as two:
            assert one.slot != two.slot
        assert one.valid
    with permits as again:
        assert again.valid
    # A block may be left by another thread than it was entered by.
    block = permits.__enter__()
    thread = threading.Thread(target=permits.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    assert block.state == "released"


def test_a_block_whose_keys_have_gone_is_told_so_at_its_end() -> None:
    manager = LockManager.memory(3, log=False)
    with pytest.raises(leasehold.LeaseLost) as told:
        with manager.lock("a"):
            manager.force_release("a")
    assert told.value.name == "a" and told.value.cause in ("gone", "taken_by_another")


def test_a_lease_that_is_detached_is_found_again_by_its_owner() -> None:
    manager = LockManager.memory(3)
    owner = manager.lock("a").acquire().detach()
    found = manager.detached("a", owner)
    assert 19 < found.extend(20) <= 20
    with pytest.raises(leasehold.Held):
        manager.lock("a").try_acquire()
    assert found.release().is_released
    reader = manager.rwlock("p").read().acquire().detach()
    assert manager.detached("p", reader, kind="read").release().is_released
    permit = manager.semaphore("s", 1).acquire().detach()
    assert manager.detached("s", permit, kind="permit").release().is_released
    both = manager.lock_all(["x", "y"]).acquire().detach()
    assert manager.detached(["x", "y"], both).release().is_released


def test_a_lease_that_is_handed_over_is_adopted_once() -> None:
    nodes = [MemoryNode() for _ in range(3)]
    one, other = LockManager.memory_nodes(nodes), LockManager.memory_nodes(nodes)
    lease = one.lock("a").acquire()
    text = lease.hand_over()
    assert not lease.valid
    adopted = other.adopt(text)
    assert adopted.valid
    with pytest.raises(leasehold.AdoptError):
        one.adopt(text)
    with pytest.raises(leasehold.AdoptError):
        one.adopt("nonsense")
    adopted.release()


def test_an_operator_says_that_locks_on_a_cluster_are_plain() -> None:
    with LockManager(["redis+cluster://127.0.0.1:1"], plain=True, log=False) as manager:
        operator = manager.operator().answer_within(1)
        assert operator.is_plain
        [answer] = operator.examine()
        assert answer.kind == "silent" and "where its slots are kept" in str(answer)


def test_plain_locks_have_no_tokens_and_no_readers() -> None:
    manager = LockManager.memory(3, plain=True)
    with manager.lock("a") as lease, pytest.raises(leasehold.ConfigError):
        _ = lease.fencing_token
    with pytest.raises(leasehold.ConfigError):
        manager.rwlock("a")
    with pytest.raises(leasehold.ConfigError):
        manager.semaphore("a", 2)


def test_a_lock_is_looked_at() -> None:
    manager = LockManager.memory(3)
    assert manager.inspect("a").is_free
    with manager.lock("a"):
        seen = manager.inspect("a")
        assert seen.holder is not None and seen.quorum == 2 and len(seen.nodes) == 3
        assert [node.kind for node in seen.nodes] == ["held"] * 3 and "held by" in str(seen)
    assert [health.connection for health in manager.health()] == ["up"] * 3
    assert manager.nodes == ["memory #0", "memory #1", "memory #2"]


def test_a_manager_that_is_shut_down_says_so() -> None:
    manager = LockManager.memory(3)
    lease = manager.lock("a").acquire()
    assert manager.shutdown() == 0
    assert not lease.valid
    with pytest.raises(leasehold.ShutDown):
        manager.lock("a").acquire()


def test_options_are_those_of_the_manager_unless_a_lock_says_others() -> None:
    manager = LockManager.memory(3, options={"ttl": 2, "renew_every": None})
    with manager.lock("a") as lease:
        assert lease.remaining <= 2
    with manager.lock("a", ttl=5) as lease:
        assert 4 < lease.remaining <= 5
    with manager.lock("a").with_options(ttl=8) as lease:
        assert 7 < lease.remaining <= 8


def test_every_option_is_read() -> None:
    options: leasehold.LockOptions = {
        "ttl": 10, "fair": True, "renew_every": 2, "max_hold": 60, "max_extensions": 5, "progress_within": 30,
        "warn_before": 1, "min_hold": 0, "lock_delay": 0, "tries": 3, "pause": (0.01, 0.02),
        "give_up_unreachable_after": 1, "node_limit": 0.1, "drift": (0.01, 0.002), "margin": 0.005, "step_margin": 0,
        "local_queue": True, "ask_all_at_once": True, "label": "x",
    }  # fmt: skip
    assert set(options) == set(leasehold.LockOptions.__annotations__)
    with LockManager.memory(3).lock("a", **options) as lease:
        assert lease.valid
    with LockManager.memory(3).lock("a", max_hold=None, tries=None, label=None, local_queue=False) as lease:
        assert lease.valid


def test_waiters_of_a_fair_lock_know_how_many_come_first() -> None:
    nodes = [MemoryNode() for _ in range(3)]
    one, other, third = (LockManager.memory_nodes(nodes, options={"fair": True}) for _ in range(3))
    with one.lock("a"):
        got: list[bool] = []
        thread = threading.Thread(
            target=lambda: got.append(other.lock("a", timeout=10).acquire().release().is_released)
        )
        thread.start()
        until = time.monotonic() + 5
        ahead = None
        while ahead != 1 and time.monotonic() < until:
            with pytest.raises(leasehold.Held) as told:
                third.lock("a").try_acquire()
            ahead = told.value.ahead
        assert ahead == 1
    thread.join(5)
    assert got == [True]
