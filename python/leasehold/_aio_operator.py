"""What operators can do, for tasks of asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ._aio_bridge import run
from ._facts import ElectionState, Inspection, Listing, NodeAnswer, Reconfiguration
from ._operator import OperatorBase
from ._options import Span

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable


class Operator(OperatorBase):
    """As `leasehold.Operator`, for tasks."""

    async def survey(self) -> list[NodeAnswer]:
        """What each server is, and whether it votes: a `Survey` each."""
        return cast("list[NodeAnswer]", await run(self._native.survey()))

    async def examine(self) -> list[NodeAnswer]:
        """How good each node is for locks: an `Examination` each. Takes some seconds."""
        return cast("list[NodeAnswer]", await run(self._native.examine()))

    async def examine_votes(self) -> list[NodeAnswer]:
        """As `examine`, but only what decides whether a node can vote."""
        return cast("list[NodeAnswer]", await run(self._native.examine_votes()))

    async def admit(self) -> list[NodeAnswer]:
        """Lets servers vote at once that may have forgotten locks: for those who know that nothing is held."""
        return cast("list[NodeAnswer]", await run(self._native.admit()))

    async def admit_new(self) -> list[NodeAnswer]:
        """As `admit`, but only for servers that never had a lock."""
        return cast("list[NodeAnswer]", await run(self._native.admit_new()))

    async def list(self, prefix: str = "", *, most: int = 10_000, hashes: bool = False) -> Listing:
        """The locks whose names begin so: of each node ``most`` at most. ``hashes``: also those of Redisson."""
        return cast("Listing", await run(self._native.search(prefix, most, hashes)))

    async def look(self, name: str) -> Inspection:
        """What each node has under this name, with the types of keys and the counters."""
        return cast("Inspection", await run(self._native.look(name)))

    async def until_free(self, name: str, *, timeout: Span | None = None) -> Inspection:
        """Waits until nobody holds it, and takes nothing; returns what is seen at the end."""
        return cast("Inspection", await run(self._native.until_free(name, timeout)))

    async def until_permit(self, name: str, permits: int, *, timeout: Span | None = None) -> Inspection:
        """Waits until one of so many permits can be had, and takes none."""
        return cast("Inspection", await run(self._native.until_permit(name, permits, timeout)))

    async def look_on(self, name: str) -> AsyncIterator[Inspection]:
        """What the nodes have under this name, whenever that changes, for as long as one asks."""
        lookout = self._native.look_on(name)
        while (seen := await run(lookout.next())) is not None:
            yield cast("Inspection", seen)

    async def observe(self, election: str) -> AsyncIterator[ElectionState]:
        """Who leads, now and after each change."""
        lookout = self._native.observe(election)
        while (state := await run(lookout.next())) is not None:
            yield cast("ElectionState", state)

    async def reconfigure(self, former: Iterable[str] | None = None) -> Reconfiguration:
        """Makes the configuration of this operator the one that the nodes agree on. Raises `ReconfigureError`."""
        return cast("Reconfiguration", await run(self._native.reconfigure(self._former(former))))

    async def rehearse(self, former: Iterable[str] | None = None) -> Reconfiguration:
        """What `reconfigure` would do. Changes nothing."""
        return cast("Reconfiguration", await run(self._native.rehearse(self._former(former))))
