"""One trial of `peers.py`, in the environment of one library: `worker.py LIBRARY TRIAL [--hung PID] SECONDS URL…`."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import statistics
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any
from urllib.parse import urlparse

Cycle = Callable[[str], Any]
TTL = 10


def redis_py(urls: list[str]) -> Cycle:
    import redis

    client = redis.Redis.from_url(urls[0])

    def cycle(name: str) -> None:
        lock = client.lock(name, timeout=TTL)
        assert lock.acquire(blocking=False)
        lock.release()

    return cycle


def redlock_py(urls: list[str]) -> Cycle:
    from redlock import Redlock

    locks = Redlock([{"host": urlparse(url).hostname, "port": urlparse(url).port} for url in urls], retry_count=1)

    def cycle(name: str) -> None:
        lock = locks.lock(name, TTL * 1000)
        assert lock
        locks.unlock(lock)

    return cycle


def redlock_ng(urls: list[str]) -> Cycle:
    from redlock import Redlock

    locks = Redlock(urls)

    def cycle(name: str) -> None:
        lock = locks.acquire(name, TTL * 1000)
        assert lock
        locks.release(lock)

    return cycle


def pottery(urls: list[str]) -> Cycle:
    import redis
    from pottery import Redlock

    masters = {redis.Redis.from_url(url) for url in urls}

    def cycle(name: str) -> None:
        lock = Redlock(key=name, masters=masters, auto_release_time=TTL)
        assert lock.acquire(blocking=False)
        lock.release()

    return cycle


def leasehold(urls: list[str]) -> Cycle:
    from leasehold import LockManager

    manager = LockManager(urls, log=False)
    manager.operator().admit()

    def cycle(name: str) -> None:
        manager.lock(name, timeout=5, ttl=TTL).acquire().release()

    return cycle


def leasehold_aio(urls: list[str]) -> Callable[[str], Awaitable[None]]:
    from leasehold.aio import LockManager

    manager = LockManager(urls, log=False)

    async def cycle(name: str) -> None:
        lease = await manager.lock(name, timeout=5, ttl=TTL).acquire()
        await lease.release()

    return cycle


MAKERS: dict[str, Callable[[list[str]], Cycle]] = {
    "redis-py": redis_py,
    "redlock-py": redlock_py,
    "redlock-ng": redlock_ng,
    "pottery": pottery,
    "leasehold": leasehold,
}


def one(cycle: Cycle, seconds: float) -> float:
    spans, until = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        cycle("bench/one")
        spans.append(time.perf_counter() - began)
    return statistics.median(spans) * 1e6


def many(cycle: Cycle, seconds: float, workers: int = 64) -> float:
    counts, until = [0] * workers, time.perf_counter() + seconds

    def work(number: int) -> None:
        while time.perf_counter() < until:
            try:
                cycle(f"bench/{number}")
            except Exception:
                # A try that failed is no cycle: with so many threads some libraries run into their own time limits.
                continue
            counts[number] += 1

    threads = [threading.Thread(target=work, args=(number,)) for number in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / seconds


async def one_task(cycle: Callable[[str], Awaitable[None]], seconds: float) -> float:
    spans, until = [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        await cycle("bench/one")
        spans.append(time.perf_counter() - began)
    return statistics.median(spans) * 1e6


async def many_tasks(cycle: Callable[[str], Awaitable[None]], seconds: float, workers: int = 64) -> float:
    until = time.perf_counter() + seconds

    async def work(number: int) -> int:
        count = 0
        while time.perf_counter() < until:
            await cycle(f"bench/{number}")
            count += 1
        return count

    return sum(await asyncio.gather(*(work(number) for number in range(workers)))) / seconds


def main(words: list[str]) -> None:
    name, trial, *rest = words
    hung = None
    if rest[0] == "--hung":
        hung = int(rest[1])
        rest = rest[2:]
    seconds, urls = float(rest[0]), rest[1:]
    if name == "leasehold-aio":
        leasehold(urls)

        async def trying() -> float:
            cycle = leasehold_aio(urls)
            await one_task(cycle, 0.3)
            if hung is not None:
                os.kill(hung, signal.SIGSTOP)
            return await (many_tasks if trial == "many" else one_task)(cycle, seconds)

        print(json.dumps(asyncio.run(trying())))
        return
    cycle = MAKERS[name](urls)
    one(cycle, 0.3)
    if hung is not None:
        os.kill(hung, signal.SIGSTOP)
    print(json.dumps((many if trial == "many" else one)(cycle, seconds)))


if __name__ == "__main__":
    main(sys.argv[1:])
