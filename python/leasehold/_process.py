"""What forks and the end of the program mean for managers.

A child has copies of its parent's managers, and neither their threads nor a right to their sockets. So each manager
is made again in the child, from its configuration, when it is first used there; what the parent had is left alone.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._base import ManagerBase

managers: weakref.WeakSet[ManagerBase] = weakref.WeakSet()

making = threading.RLock()
"""Held while a native manager is made, and while the process forks."""


def _before_fork() -> None:
    making.acquire()
    for manager in list(managers):
        manager._before_fork()


def _after_fork_in_parent() -> None:
    making.release()


def _after_fork_in_child() -> None:
    global making
    making = threading.RLock()
    _exits.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork_in_parent,
        after_in_child=_after_fork_in_child,
    )


def release_everything() -> None:
    """Gives back what this process holds, and waits until the nodes know: a second at most for each manager."""
    for manager in list(managers):
        manager._at_exit()


atexit.register(release_everything)

_exits: list[object] = []


def at_exit_of_child() -> None:
    """A child of `multiprocessing` ends without `atexit`: it has its own list."""
    process = sys.modules.get("multiprocessing.process")
    util = sys.modules.get("multiprocessing.util")
    if process is None or util is None or _exits or process.parent_process() is None:
        return
    _exits.append(util.Finalize(None, release_everything, exitpriority=0))


def until_closed(path: str, limit: float = 1.0) -> bool:
    """Waits until this process has no file below a folder open. True as well where the system does not tell."""
    folder = os.path.realpath(path) + os.sep
    until = time.monotonic() + limit
    while _has_open(folder):
        if time.monotonic() > until:
            return False
        time.sleep(0.002)
    # The register of open stores is free a moment after the files are closed.
    time.sleep(0.002)
    return True


def _has_open(folder: str) -> bool:
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return False
    for number in numbers:
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith(folder):
                return True
        except OSError:
            continue
    return False
