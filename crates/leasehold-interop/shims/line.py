"""Reads requests and writes answers: the protocol of README.md."""

import asyncio
import inspect
import sys
import time


class Refused(Exception):
    """Somebody else has the lock."""


class Gone(Exception):
    """The lock had ended before it was released or extended."""


class Failed(Exception):
    """Something else went wrong: this is what is answered."""


def client(url, **options):
    """A client that fails at once where a node is away: to try again takes longer than a lock lasts."""
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0), **options)


def serve(library):
    """Serves `library`, which has `open`, `lock`, `unlock` and `extend`, each a function or a coroutine.

    `lock` returns the value and the validity, each None if it is not known, and the fencing token if there is one.
    Leasehold itself has `wait`, `leave`, `adopt`, `finish` and `crowd` as well.
    """
    if sys.argv[1:2] == ["cycles"]:
        asyncio.run(_measure(library, int(sys.argv[2]), sys.argv[3:]))
    else:
        asyncio.run(_serve(library))


async def _measure(library, count, urls):
    """Locks and unlocks new keys, and prints what each cycle took, in microseconds. The first tenth warms up."""
    await _call(library.open, urls)
    for number in range(-(count // 10), count):
        started = time.perf_counter()
        await _call(library.lock, f"lone:{time.time_ns()}", 10_000, 1)
        await _call(library.unlock)
        if number >= 0:
            print(round((time.perf_counter() - started) * 1e6))


async def _serve(library):
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        request, *words = line.split()
        if request == "quit":
            break
        print(await _answer(library, request, words), flush=True)


async def _answer(library, request, words):
    try:
        if request == "open":
            await _call(library.open, words)
            return "ready"
        if request in ("lock", "wait"):
            lock = getattr(library, request)
            return _locked(*await _call(lock, words[0], int(words[1]), int(words[2])))
        if request == "adopt":
            return _locked(*await _call(library.adopt, words[0]))
        if request == "unlock":
            await _call(library.unlock)
            return "unlocked"
        if request == "extend":
            await _call(library.extend, int(words[0]))
            return "extended"
        if request == "leave":
            return f"left {await _call(library.leave, words[0])}"
        if request == "finish":
            await _call(library.finish, words[0], words[1])
            return "unlocked"
        if request == "crowd":
            return f"crowded {await _call(library.crowd, words[0], int(words[1]), int(words[2]))}"
        return f"failed there is no request {request}"
    except Failed as error:
        return f"failed {error}".replace("\n", " ")
    except Exception as error:
        why = f"{type(error).__name__}: {error}".replace("\n", " ")
        kind = {Refused: "refused", Gone: "gone"}.get(type(error), "failed")
        return f"{kind} {why}"


def _locked(value, validity, token=None):
    text = f"locked {value or '?'} {'?' if validity is None else int(validity)}"
    return text if token is None else f"{text} {token}"


async def _call(function, *arguments):
    result = function(*arguments)
    return await result if inspect.isawaitable(result) else result
