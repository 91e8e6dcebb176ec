"""What operators can do, for threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from ._facts import ElectionState, Inspection, Listing, NodeAnswer, Reconfiguration
from ._options import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Self

    from . import _native


class OperatorBase:
    """An operator of the nodes of a manager."""

    def __init__(self, native: _native.Operator) -> None:
        self._native = native

    @property
    def quorum(self) -> int:
        """How many nodes must agree."""
        return self._native.quorum()

    @property
    def is_plain(self) -> bool:
        """Whether a node is a Redis Cluster, so that locks are plain."""
        return self._native.is_plain()

    def within(self, limit: Span) -> Self:
        """The same, whose calls wait so long for each node as a whole."""
        return type(self)(self._native.within(limit))

    def answer_within(self, limit: Span) -> Self:
        """The same, whose calls wait so long for each answer."""
        return type(self)(self._native.answer_within(limit))

    def about(self, name: str) -> Self:
        """The same, whose examinations concern the lock of this name."""
        return type(self)(self._native.about(name))

    def _former(self, former: Iterable[str] | None) -> list[str] | None:
        return None if former is None else list(former)


class Operator(OperatorBase):
    """What an operator can do. Each call asks all nodes at once, and raises `ConfigError`."""

    def survey(self) -> list[NodeAnswer]:
        """What each server is, and whether it votes: a `Survey` each."""
        return cast("list[NodeAnswer]", self._native.survey().wait())

    def examine(self) -> list[NodeAnswer]:
        """How good each node is for locks: an `Examination` each. Takes some seconds."""
        return cast("list[NodeAnswer]", self._native.examine().wait())

    def examine_votes(self) -> list[NodeAnswer]:
        """As `examine`, but only what decides whether a node can vote."""
        return cast("list[NodeAnswer]", self._native.examine_votes().wait())

    def admit(self) -> list[NodeAnswer]:
        """Lets servers vote at once that may have forgotten locks: for those who know that nothing is held. An
        `Admission` each."""
        return cast("list[NodeAnswer]", self._native.admit().wait())

    def admit_new(self) -> list[NodeAnswer]:
        """As `admit`, but only for servers that never had a lock."""
        return cast("list[NodeAnswer]", self._native.admit_new().wait())

    def list(self, prefix: str = "", *, most: int = 10_000, hashes: bool = False) -> Listing:
        """The locks whose names begin so: of each node ``most`` at most. ``hashes``: also those of Redisson."""
        return cast("Listing", self._native.search(prefix, most, hashes).wait())

    def look(self, name: str) -> Inspection:
        """What each node has under this name, with the types of keys and the counters."""
        return cast("Inspection", self._native.look(name).wait())

    def until_free(self, name: str, *, timeout: Span | None = None) -> Inspection:
        """Waits until nobody holds it, and takes nothing; returns what is seen at the end."""
        return cast("Inspection", self._native.until_free(name, timeout).wait())

    def until_permit(self, name: str, permits: int, *, timeout: Span | None = None) -> Inspection:
        """Waits until one of so many permits can be had, and takes none."""
        return cast("Inspection", self._native.until_permit(name, permits, timeout).wait())

    def look_on(self, name: str) -> Iterator[Inspection]:
        """What the nodes have under this name, whenever that changes, for as long as one asks."""
        return self._each(self._native.look_on(name), Inspection)

    def observe(self, election: str) -> Iterator[ElectionState]:
        """Who leads, now and after each change."""
        return self._each(self._native.observe(election), ElectionState)

    def reconfigure(self, former: Iterable[str] | None = None) -> Reconfiguration:
        """Makes the configuration of this operator the one that the nodes agree on. ``former`` are the nodes until
        now, if others.

        Takes a minute at most. Raises `ReconfigureError`.
        """
        return cast("Reconfiguration", self._native.reconfigure(self._former(former)).wait())

    def rehearse(self, former: Iterable[str] | None = None) -> Reconfiguration:
        """What `reconfigure` would do. Changes nothing."""
        return cast("Reconfiguration", self._native.rehearse(self._former(former)).wait())

    def _each(self, lookout: _native.Lookout, of: type[Any]) -> Iterator[Any]:
        while isinstance(seen := lookout.next().wait(), of):
            yield seen
