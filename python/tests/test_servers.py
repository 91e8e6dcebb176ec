"""Real servers: losses, restarts, many leases, and what operators see."""

from __future__ import annotations

import asyncio
import logging
import time

import pytest
from conftest import Server

import leasehold
from leasehold import Event, LockManager, aio


def test_a_lock_on_five_servers_bears_the_loss_of_two(servers: list[Server], urls: list[str]) -> None:
    with LockManager(urls, log=False) as manager:
        with manager.lock("orders/42", ttl=2) as lease:
            servers[0].kill()
            servers[1].pause()
            time.sleep(2.5)
            assert lease.valid
        with manager.lock("orders/42", timeout=5):
            pass
        servers[2].kill()
        with pytest.raises(leasehold.Unreachable) as told:
            manager.lock("orders/42", timeout=0.5).acquire()
        assert told.value.quorum == 3 and len(told.value.nodes) >= 3
        assert any(str(servers[0].port) in fault.node for fault in told.value.nodes)


def test_an_owner_is_the_text_under_the_key_as_every_program_has_it(servers: list[Server], urls: list[str]) -> None:
    redis = pytest.importorskip("redis", reason="redis-py is not here: what stands under a key is not asked")
    with LockManager(urls, log=False) as manager:
        lease = manager.lock("orders/42").acquire()
        with redis.Redis(port=servers[0].port, decode_responses=True) as there:
            owner = str(there.get("orders/42"))
        assert lease.owner == owner
        with pytest.raises(leasehold.Held) as told:
            manager.lock("orders/42", timeout=0, local_queue=False).acquire()
        assert told.value.holder is not None and told.value.holder.owner == owner
        assert lease.detach() == owner
        assert manager.detached("orders/42", owner).release().is_released
        for wrong in ("", "x" * 256):
            with pytest.raises(leasehold.ConfigError, match="1 to 255 bytes"):
                manager.detached("orders/42", wrong)


def test_the_loss_is_told_in_time(servers: list[Server], urls: list[str]) -> None:
    with LockManager(urls, log=False) as manager:
        lease = manager.lock("orders/42", ttl=1).acquire()
        for one in servers[:3]:
            one.pause()
        began = time.monotonic()
        lost = lease.wait_lost(5)
        assert lost is not None and lost.cause == "timed_out" and not lease.valid
        assert time.monotonic() - began < 1.1
        for one in servers[:3]:
            one.resume()


def test_a_body_is_cancelled_before_others_can_have_the_lock(servers: list[Server], urls: list[str]) -> None:
    async def work() -> float:
        async with aio.LockManager(urls, log=False) as manager:
            began = 0.0
            try:
                async with manager.lock("orders/42", ttl=1):
                    for one in servers[:3]:
                        one.pause()
                    began = time.monotonic()
                    await asyncio.sleep(30)
            except leasehold.LeaseLost:
                return time.monotonic() - began
        raise AssertionError("it was not lost")

    try:
        assert asyncio.run(asyncio.wait_for(work(), 30)) < 1.1
    finally:
        for one in servers[:3]:
            one.resume()


def test_servers_that_crash_and_come_back_empty_let_nobody_in_twice(servers: list[Server], urls: list[str]) -> None:
    """The scenario of the seeds: a holder, and a quorum of nodes that crash and restart without their data."""
    with LockManager(urls, log=False) as holder, LockManager(urls, log=False) as other:
        lease = holder.lock("orders/42", ttl=30, renew_every=None).acquire()
        for one in servers[:3]:
            one.kill()
            one.start()
        assert lease.valid
        with pytest.raises(leasehold.AcquireError) as told:
            other.lock("orders/42", timeout=1).acquire()
        assert isinstance(told.value, (leasehold.Abstained, leasehold.Held))
        assert lease.valid


def test_ten_thousand_leases(urls: list[str]) -> None:
    async def work() -> None:
        async with aio.LockManager(urls, log=False) as manager:
            at_once = asyncio.Semaphore(500)

            async def acquire(number: int) -> aio.Lease:
                async with at_once:
                    return await manager.lock(f"lease/{number}", ttl=30, timeout=60).acquire()

            leases = await asyncio.gather(*(acquire(number) for number in range(10_000)))
            assert all(lease.valid for lease in leases)
            assert len({lease.owner for lease in leases}) == 10_000
            await asyncio.sleep(12)
            assert all(lease.valid for lease in leases)

            async def release(lease: aio.Lease) -> leasehold.ReleaseOutcome:
                async with at_once:
                    return await lease.release()

            outcomes = await asyncio.gather(*(release(lease) for lease in leases))
            assert all(outcomes)

    asyncio.run(asyncio.wait_for(work(), 120))


def test_tokens_grow_for_each_holder_in_turn(urls: list[str]) -> None:
    async def work() -> list[int]:
        async with aio.LockManager(urls) as one, aio.LockManager(urls) as other:
            tokens: list[int] = []

            async def turn(manager: aio.LockManager) -> None:
                for _ in range(10):
                    async with manager.lock("a", timeout=None) as lease:
                        tokens.append(lease.fencing_token)

            await asyncio.gather(*(turn(manager) for manager in (one, other) for _ in range(4)))
            return tokens

    tokens = asyncio.run(asyncio.wait_for(work(), 60))
    assert len(tokens) == 80 and tokens == sorted(set(tokens))


def test_operators_see_what_there_is(servers: list[Server], urls: list[str]) -> None:
    with LockManager(urls, log=False) as manager:
        operator = manager.operator().within(5)
        assert operator.quorum == 3 and not operator.is_plain
        assert all(answer.answer.cluster is None for answer in operator.examine())
        with manager.lock("orders/42"), manager.lock("orders/43"):
            assert [lock.names for lock in operator.list("orders/").locks] == [["orders/42"], ["orders/43"]]
            seen = operator.look("orders/42")
            assert seen.holder is not None
            assert next(operator.look_on("orders/42")).names == ["orders/42"]
            assert not operator.until_free("orders/42", timeout=0.2).is_free
        assert operator.until_free("orders/42", timeout=5).is_free
        with manager.semaphore("gpu", 1):
            assert operator.until_permit("gpu", 1, timeout=0.2).permits is not None
        surveys = operator.survey()
        assert {survey.answer.membership for survey in surveys} == {"ours"}
        assert all(answer.answer.version and answer.answer.round_trip for answer in operator.examine())
        assert all(answer.kind == "told" for answer in operator.about("orders/42").examine_votes())
        assert {answer.answer.kind for answer in operator.admit_new()} <= {"admitted", "not_new"}
        with manager.election("e", label="here"):
            assert next(operator.observe("e")).label == "here"
        rehearsed = operator.rehearse(urls)
        assert rehearsed.is_complete and len(rehearsed.nodes) == 5
    larger = LockManager(urls[:4], log=False)
    done = larger.operator().reconfigure(urls)
    assert done.is_complete, done


def test_operators_of_asyncio_see_the_same(urls: list[str]) -> None:
    async def work() -> None:
        async with aio.LockManager(urls, log=False) as manager:
            operator = manager.operator()
            async with manager.lock("orders/42"):
                assert [lock.names for lock in (await operator.list("orders/")).locks] == [["orders/42"]]
                async for seen in operator.look_on("orders/42"):
                    assert seen.names == ["orders/42"]
                    break
            assert (await operator.until_free("orders/42", timeout=5)).is_free
            assert all(answer.kind == "told" for answer in await operator.survey())

    asyncio.run(asyncio.wait_for(work(), 60))


def test_observers_and_the_log_are_told(
    servers: list[Server], urls: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    events: list[Event] = []
    caplog.set_level(logging.INFO, logger="leasehold")
    with LockManager(urls, observer=events.append) as manager:
        with pytest.raises(leasehold.LeaseLost), manager.lock("orders/43") as lease:
            manager.force_release("orders/43")
            lease.wait_lost(5)
        with manager.lock("orders/42"):
            servers[0].kill()
        until = time.monotonic() + 10
        wanted = {"acquired", "released", "lost", "up", "down", "asked", "answered"}
        while not wanted <= {event.kind for event in events} and time.monotonic() < until:
            time.sleep(0.05)
    kinds = {event.kind for event in events}
    assert wanted <= kinds, kinds
    lost = next(event for event in events if event.kind == "lost")
    assert lost.name == "orders/43" and lost.facts["cause"] == "gone" and lost.facts["held"] >= 0
    said = [record.getMessage() for record in caplog.records if record.name == "leasehold"]
    assert any(text.startswith('lost the lock "orders/43" after') for text in said), said
    assert sum(text.endswith(": connected") for text in said) >= 5
    assert any(str(servers[0].port) in text and "connected" not in text for text in said), said


def test_from_env_and_from_config_find_the_same_nodes(
    urls: list[str], tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pathlib

    monkeypatch.setenv("LEASEHOLD_NODES", ",".join(urls))
    with LockManager.from_env() as manager:
        assert len(manager.nodes) == 5
        manager.lock("a").acquire(40).release()
    path = pathlib.Path(str(tmp_path)) / "leasehold.toml"
    path.write_text(f"[clusters.main]\nnodes = {urls!r}\n")
    path.chmod(0o600)
    with LockManager.from_config(path, "main") as manager:
        assert len(manager.nodes) == 5
    monkeypatch.delenv("LEASEHOLD_NODES")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(leasehold.ConfigError, match="LEASEHOLD_NODES"):
        LockManager.from_env()


def test_a_timestamp_lock_is_shared_with_other_programs(servers: list[Server]) -> None:
    url = servers[0].url
    lock = leasehold.TimestampLock(url, "lock.foo", lock_timeout=3)
    with lock.acquire() as lease:
        assert lease.valid and 0 < lease.remaining <= 3 and lease.value > 1_700_000_000
        lease.extend()
        with pytest.raises(leasehold.Held) as told:
            leasehold.TimestampLock(url, "lock.foo").acquire(0)
        assert told.value.name == "lock.foo"
    assert not lease.valid

    async def work() -> None:
        async with await aio.TimestampLock(url, "lock.foo").acquire() as held:
            await held.extend()
            assert held.valid
        assert (await (await aio.TimestampLock(url, "lock.foo").acquire(1)).release()).is_released

    asyncio.run(work())
    with pytest.raises(leasehold.ConfigError):
        leasehold.TimestampLock(url, "lock.foo", lock_timeout=0.5)
