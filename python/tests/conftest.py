"""Servers of the tests' own, and what they skip."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from leasehold import LockManager


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class Server:
    """A Redis server on a free port of the loopback interface, without a disk."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.port = _free_port()
        self.url = f"redis://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        words = [self.program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + 10
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as one:
                    one.sendall(b"PING\r\n")
                    if one.recv(7) == b"+PONG\r\n":
                        return
            except OSError:
                time.sleep(0.01)
        raise RuntimeError("redis-server does not answer")

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait()

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        assert self.process is not None
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()


@pytest.fixture
def servers() -> Iterator[list[Server]]:
    """Five servers, which vote at once. `LEASEHOLD_SERVER` names the program, if it is not on the path."""
    program = os.environ.get("LEASEHOLD_SERVER") or shutil.which("redis-server") or shutil.which("valkey-server")
    if program is None:
        pytest.skip("redis-server is not here: nothing is tried on real servers")
    five = [Server(program) for _ in range(5)]
    try:
        with LockManager([one.url for one in five], log=False) as manager:
            answers = manager.operator().admit()
            assert [answer.answer.kind for answer in answers] == ["admitted"] * 5
        yield five
    finally:
        for one in five:
            one.end()


@pytest.fixture
def urls(servers: list[Server]) -> list[str]:
    return [one.url for one in servers]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return os.fspath(tmp_path / "locks")


def run_python(program: str, *arguments: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs a program in a Python of its own."""
    import sys

    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )
