"""A world for tests of programs that lock: nodes that can be broken, and a time that is told.

>>> from leasehold.testing import World
>>> world = World(3)
>>> lease = world.manager().lock("orders/42").acquire()
>>> world.advance(3600)  # it extends itself meanwhile
>>> lease.valid
True
>>> world.lose("orders/42")
>>> lease.valid
False

With pytest there is the fixture ``leasehold_world``, a world of three nodes. Time stands still unless a test lets it
pass, so what waits for time waits for `World.advance`, which another thread or task calls; a wait that nobody ends
fails with an ``AssertionError`` that names it.
"""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING, TypeVar, cast

from .. import _native, aio
from .._aio_bridge import run
from .._base import ManagerBase
from .._errors import ConfigError
from .._facts import Holder
from .._options import LockOptions, Span
from .._sync import LockManager

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["Node", "World"]

M = TypeVar("M", bound=ManagerBase)


class Node:
    """One of the nodes of a world."""

    def __init__(self, world: _native.World, number: int) -> None:
        self._world, self._number = world, number

    def down(self, reason: str = "connection refused") -> None:
        """It cannot be reached from now on."""
        self._world.down(self._number, reason)

    def up(self) -> None:
        """It can be reached again, with the data that it had."""
        self._world.up(self._number)

    def hang(self) -> None:
        """It answers nothing from now on, and keeps what it is asked."""
        self._world.hang(self._number)

    def resume(self) -> None:
        """It carries out what it was asked meanwhile, and goes on."""
        self._world.resume(self._number)

    def answer_after(self, delay: Span) -> None:
        """It takes so long for each answer from now on."""
        self._world.answer_after(self._number, delay)

    def lose_key(self, name: str) -> None:
        """It loses the lock of this name."""
        self._world.lose_key(self._number, name)

    def lose_everything(self) -> None:
        """It loses all its data, as a server that restarts without a disk."""
        self._world.lose_everything(self._number)

    def set_clock_forward(self, by: Span) -> None:
        """Its clock is set forward."""
        self._world.set_clock_forward(self._number, by)


class World:
    """So many nodes, 1 to 32, and their time."""

    def __init__(self, nodes: int = 3) -> None:
        self._world = _native.World(nodes)
        self._process = os.getpid()

    def manager(
        self, *, plain: bool = False, max_ttl: Span | None = None, **options: Unpack[LockOptions]
    ) -> LockManager:
        """A manager for threads, whose locks have these options. Another one is as good as another process."""
        return self._manager(LockManager, plain, max_ttl, options)

    def aio_manager(
        self, *, plain: bool = False, max_ttl: Span | None = None, **options: Unpack[LockOptions]
    ) -> aio.LockManager:
        """A manager for tasks of asyncio."""
        return self._manager(aio.LockManager, plain, max_ttl, options)

    def _manager(self, kind: type[M], plain: bool, max_ttl: Span | None, options: LockOptions) -> M:
        return kind._of(("world", self), {"options": options, "plain": plain, "max_ttl": max_ttl, "log": False})

    def _open(self, given: dict[str, object]) -> _native.Manager:
        if os.getpid() != self._process:
            raise ConfigError("this world is that of the process of which this one is a fork: make one after the fork")
        return self._world.manager(given)

    def node(self, number: int) -> Node:
        """One of the nodes, counted from 0. Raises ``IndexError`` if there are not so many."""
        self._world.check(number)
        return Node(self._world, number)

    def settle(self) -> None:
        """Waits until the managers of this world have done all that is to be done at this moment."""
        self._world.settle()

    def advance(self, by: Span) -> None:
        """Lets so much time pass, moment by moment: managers extend, try again and give up as they would.

        Blocks this thread until all of that is done: half a second for an hour of one lease.
        """
        self._world.advance(by)

    async def async_advance(self, by: Span) -> None:
        """As `advance`, while the tasks of this loop run."""
        await asyncio.get_running_loop().run_in_executor(None, self._world.advance, by)
        # What was told meanwhile gets its turn: the loop looks at its sockets, then at the tasks that they woke.
        for _ in range(3):
            await asyncio.sleep(0)

    def give_up_after(self, patience: Span) -> None:
        """How long a test may wait while nothing happens; 10 s of the machine's time. Then the waiter raises."""
        self._world.give_up_after(patience)

    def lose(self, name: str) -> None:
        """Whoever has the lock of this name loses it, and is told."""
        self._world.lose(name)

    def holder(self, name: str) -> Holder | None:
        """Who has the lock of this name."""
        return self._world.holder(name)

    def permits(self, name: str) -> dict[int, Holder]:
        """Who has permits of this name, by their slots."""
        return self._world.permits(name)

    def readers(self, name: str) -> list[Holder]:
        """Who reads."""
        return self._world.readers(name)

    def until_held(self, name: str, timeout: float | None = None) -> Holder | None:
        """Waits until somebody has the lock of this name, for ``timeout`` seconds of the machine's time at most."""
        return cast("Holder | None", self._world.until_held(name).wait(timeout))

    async def async_until_held(self, name: str) -> Holder:
        """As `until_held`, while the tasks of this loop run."""
        return cast("Holder", await run(self._world.until_held(name)))

    @property
    def now(self) -> float:
        """The time of this world, in seconds since it began."""
        return self._world.now()
