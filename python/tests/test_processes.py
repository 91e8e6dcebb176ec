"""Forks, the end of a program, and stores that processes share."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from conftest import run_python

import leasehold
from leasehold import LockManager

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")


def in_child(work: Callable[[], Any]) -> str:
    """What a forked child says: the text of what it returns, or a traceback. It is killed after half a minute."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(30)
        try:
            said = str(work())
        except BaseException:
            said = traceback.format_exc()
        os.write(write, said.encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@contextlib.contextmanager
def running(words: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A program that does not outlive what is done with it, so that a test which fails ends."""
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def test_a_manager_that_was_made_before_works_in_the_child(urls: list[str]) -> None:
    manager = LockManager(urls, log=False)
    lock = manager.lock("mine")
    manager.lock("warm").acquire().release()

    def work() -> str:
        with lock as lease:
            return f"{lease.valid} {manager.lock('theirs', timeout=0).acquire().valid}"

    assert in_child(work) == "True True"
    with lock:
        assert in_child(lambda: _refused(manager, "mine")) == str(os.getpid())


def _refused(manager: LockManager, name: str) -> int | None:
    with pytest.raises(leasehold.Held) as told:
        manager.lock(name).try_acquire()
    assert told.value.holder is not None
    return told.value.holder.pid


def test_a_child_shares_no_socket_with_its_parent(urls: list[str]) -> None:
    manager = LockManager(urls, log=False)
    manager.lock("warm").acquire().release()

    def work() -> str:
        before = _sockets()
        manager.lock("a").acquire().release()
        return str(len(_sockets() - before))

    assert int(in_child(work)) >= 3
    # And those of the parent still have only its own answers on them.
    for number in range(50):
        manager.lock(f"b{number}").acquire().release()


def _sockets() -> set[str]:
    found = set()
    for number in os.listdir("/proc/self/fd"):
        try:
            link = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if link.startswith("socket:"):
            found.add(link)
    return found


def test_a_lease_of_the_parent_is_lost_in_the_child_and_held_in_the_parent(urls: list[str]) -> None:
    manager = LockManager(urls, log=False)
    lease = manager.lock("a", ttl=2).acquire()

    def work() -> str:
        lost = lease.lost
        said = [lease.valid, lease.state, lost is not None and lost.cause, lease.release().kind, lease.remaining]
        with pytest.raises(leasehold.LeaseLost):
            lease.extend()
        with pytest.raises(leasehold.LeaseLost):
            lease.raise_if_lost()
        return str(said)

    assert in_child(work) == "[False, 'foreign', 'forked', 'nothing', 0.0]"
    # In the parent it goes on, and extends itself.
    time.sleep(2.5)
    assert lease.valid
    assert manager.inspect("a").holder is not None
    assert lease.release().is_released


def test_the_memory_of_a_child_is_its_own() -> None:
    manager = LockManager.memory(3)
    with manager.lock("a"):
        assert in_child(lambda: manager.lock("a").try_acquire().valid) == "True"


def test_a_store_is_opened_again_in_the_child_and_in_the_parent(store: str) -> None:
    manager = LockManager.file(store)
    lock = manager.lock("a")
    lock.acquire().release()
    assert in_child(lambda: lock.acquire(5).valid) == "True"
    with lock:
        pass


def test_a_store_that_is_in_use_at_the_fork_says_in_the_child_what_to_do(store: str) -> None:
    manager = LockManager.file(store)
    with manager.lock("a") as lease:

        def work() -> str:
            with pytest.raises(leasehold.ConfigError) as told:
                manager.lock("b").acquire()
            return str(told.value)

        said = in_child(work)
        assert "fork" in said and store in said, said
        assert lease.valid


def _in_pool(manager_name: str) -> int:
    manager: LockManager = globals()[manager_name]
    with manager.lock("counter", timeout=30):
        with open(os.environ["COUNTER"], "r+") as file:
            number = int(file.read() or 0)
            time.sleep(0.002)
            file.seek(0)
            file.write(str(number + 1))
    return os.getpid()


_pool_manager: LockManager


def test_processes_of_a_pool_exclude_each_other(store: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    global _pool_manager
    counter = tmp_path / "counter"
    counter.write_text("0")
    monkeypatch.setenv("COUNTER", str(counter))
    _pool_manager = LockManager.file(store)
    with multiprocessing.get_context("fork").Pool(4) as pool:
        processes = set(pool.map(_in_pool, ["_pool_manager"] * 60, chunksize=1))
    assert counter.read_text() == "60" and len(processes) > 1


HOLD_AND_END = """
import sys
from leasehold import LockManager
manager = LockManager(sys.argv[1:], log=False)
lease = manager.lock("a", ttl=30).acquire()
kept = [lease]
"""


def test_the_end_of_a_program_gives_its_locks_back(urls: list[str]) -> None:
    done = run_python(HOLD_AND_END, *urls)
    assert done.returncode == 0, done.stderr
    with LockManager(urls) as manager:
        manager.lock("a").try_acquire().release()
    done = run_python(HOLD_AND_END + "raise SystemExit(3)", *urls)
    assert done.returncode == 3, done.stderr
    with LockManager(urls) as manager:
        manager.lock("a").try_acquire().release()


def _hold(urls: list[str]) -> None:
    globals()["_kept"] = LockManager(urls, log=False).lock("a", ttl=30).acquire()


def test_the_end_of_a_child_of_multiprocessing_gives_its_locks_back(urls: list[str]) -> None:
    child = multiprocessing.get_context("fork").Process(target=_hold, args=(urls,))
    child.start()
    child.join(30)
    assert child.exitcode == 0
    with LockManager(urls) as manager:
        manager.lock("a").try_acquire().release()


def test_who_is_killed_is_waited_for_until_its_lease_ends(urls: list[str]) -> None:
    program = HOLD_AND_END.replace("ttl=30", "ttl=1") + "print('held', flush=True)\nimport time\ntime.sleep(60)\n"
    with running([sys.executable, "-c", program, *urls]) as child:
        assert child.stdout is not None and child.stdout.readline() == "held\n"
        with LockManager(urls) as manager:
            with pytest.raises(leasehold.Held):
                manager.lock("a").try_acquire()
            child.kill()
            began = time.monotonic()
            manager.lock("a", ttl=1).acquire(10).release()
            assert time.monotonic() - began < 3


def test_a_program_is_interrupted_while_it_waits(urls: list[str]) -> None:
    # Where the tests run in the background of a shell, children begin with interrupts ignored.
    program = (
        "import signal, sys\nfrom leasehold import LockManager\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "manager = LockManager(sys.argv[1:], log=False)\nprint('waits', flush=True)\n"
        "manager.lock('a', timeout=None).acquire()\n"
    )
    with LockManager(urls) as manager, manager.lock("a"):
        words = [sys.executable, "-c", program, *urls]
        with running(words) as child:
            assert child.stdout is not None and child.stdout.readline() == "waits\n"
            time.sleep(0.3)
            began = time.monotonic()
            child.send_signal(signal.SIGINT)
            _, said = child.communicate(timeout=10)
            assert "KeyboardInterrupt" in said and time.monotonic() - began < 3
    with LockManager(urls) as manager:
        manager.lock("a").try_acquire().release()
