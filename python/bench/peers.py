"""Measures locks of this package beside other libraries for Python, on servers of its own.

    python bench/peers.py --wheel dist/leasehold-….whl --folder DIR [--seconds 3] [--rounds 3]

Each library has an environment of its own below DIR, since two of them have the same module name. The libraries take
turns, and each figure is the median of the rounds. `one` is one task, lock and unlock, the median in microseconds;
`many` is 64 threads, or 64 tasks of asyncio, each with a lock of its own, in cycles per second; `hung` is as `one`,
with one of five nodes stopped.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import time
import venv
from pathlib import Path

PEERS = {
    "redis-py": ["redis>=5"],
    "redlock-py": ["redlock-py", "redis>=5"],
    "redlock-ng": ["redlock-ng"],
    "pottery": ["pottery"],
    "leasehold": [],
    "leasehold-aio": [],
}
WORKER = Path(__file__).with_name("worker.py")
# redis-py's lock is one of a single server.
TRIALS = {name: [("one", 1)] + ([] if name == "redis-py" else [("one", 5), ("many", 5), ("hung", 5)]) for name in PEERS}


def environment(folder: Path, name: str, packages: list[str]) -> Path:
    python = folder / name / "bin/python"
    if not python.exists():
        venv.create(folder / name, with_pip=True)
    subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *packages], check=True)
    return python


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(program: str) -> tuple[str, subprocess.Popen[bytes]]:
    port = free_port()
    words = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return f"redis://127.0.0.1:{port}", process
        except OSError:
            time.sleep(0.02)


def attempt(words: list[object], limit: float) -> float | str:
    """The figure of a trial, or why there is none."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False, timeout=limit)
    except subprocess.TimeoutExpired:
        return f"it did not end in {limit:.0f} s"
    if done.returncode == 0:
        return float(json.loads(done.stdout.splitlines()[-1]))
    return (done.stderr.strip().splitlines() or ["it failed"])[-1]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", required=True)
    parser.add_argument("--folder", required=True, type=Path)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(PEERS))
    given = parser.parse_args()
    program = os.environ.get("LEASEHOLD_SERVER") or shutil.which("redis-server")
    if program is None:
        sys.exit("redis-server is not here")
    pythons = {name: environment(given.folder, name, PEERS[name] or [given.wheel]) for name in given.only}
    servers = [start(program) for _ in range(6)]
    # The sixth is for the trials with one node: leasehold's nodes agree on which others there are.
    sets = {1: servers[5:], 5: servers[:5]}
    seen: dict[tuple[str, str, int], list[float]] = {}
    failed: set[tuple[str, str, int]] = set()
    try:
        for _ in range(given.rounds):
            for name in given.only:
                for trial, nodes in TRIALS[name]:
                    if (name, trial, nodes) in failed:
                        continue
                    urls = [url for url, _ in sets[nodes]]
                    hung = sets[nodes][4][1] if trial == "hung" else None
                    words = [pythons[name], WORKER, name, trial, str(given.seconds), *urls]
                    if hung is not None:
                        words[4:4] = ["--hung", str(hung.pid)]
                    said = attempt(words, given.seconds + 15)
                    if hung is not None:
                        hung.send_signal(signal.SIGCONT)
                    if isinstance(said, float):
                        seen.setdefault((name, trial, nodes), []).append(said)
                    else:
                        failed.add((name, trial, nodes))
                        print(f"{nodes} nodes  {trial:5}  {name:14} no figure: {said}", flush=True)
    finally:
        for _, process in servers:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()
    for (name, trial, nodes), figures in sorted(seen.items(), key=lambda item: (item[0][2], item[0][1], item[1])):
        unit = "cycles/s" if trial == "many" else "us p50"
        median, each = statistics.median(figures), [round(one) for one in figures]
        print(f"{nodes} nodes  {trial:5}  {name:14} {median:10.0f} {unit}  {each}")


if __name__ == "__main__":
    main()
