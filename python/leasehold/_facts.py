"""What nodes and managers tell, as plain objects. Spans of time are seconds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "Admission",
    "ElectionState",
    "Event",
    "Eviction",
    "Examination",
    "HeldPermit",
    "HeldPermits",
    "Holder",
    "Inspection",
    "Listing",
    "NodeAnswer",
    "NodeFault",
    "NodeHealth",
    "NodeKey",
    "Reconfiguration",
    "Reconfigured",
    "ReleaseOutcome",
    "Scanned",
    "Survey",
]


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, as far as it tells of itself. ``text`` is for people; ``since`` is a Unix time."""

    text: str
    owner: str
    host: str | None = None
    pid: int | None = None
    since: float | None = None
    label: str | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NodeFault:
    """A node that did not vote, and why."""

    node: str
    reason: str
    kind: str

    def __str__(self) -> str:
        return f"{self.node}: {self.reason}"


@dataclass(frozen=True)
class ReleaseOutcome:
    """What became of a release.

    ``kind`` is ``released``, ``already_expired``, ``taken_by_another``, ``unknown`` (too few nodes answered; it goes
    on in the background), or ``nothing`` (it was given back before, or is held by the process of which this one is a
    fork).
    """

    kind: str
    text: str
    holder: Holder | None = None
    nodes: list[NodeFault] = field(default_factory=list)

    @property
    def is_released(self) -> bool:
        """Whether the lock was ours to the end and is given back."""
        return self.kind == "released"

    def __bool__(self) -> bool:
        return self.is_released

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NodeHealth:
    """How a node is, as far as the manager has noticed. ``connection`` is ``connecting``, ``up`` or ``down``."""

    node: str
    connection: str
    reason: str | None
    clock_steps: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class HeldPermit:
    """A permit that somebody has."""

    slot: int
    holder: Holder
    remaining: float


@dataclass(frozen=True)
class HeldPermits:
    """The permits of a name that are taken, of so many."""

    of: int
    held: list[HeldPermit]
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NodeKey:
    """What one node has: ``kind`` is ``free``, ``held``, ``read``, ``permits``, ``foreign`` or ``unknown``."""

    node: str
    kind: str
    text: str
    holder: Holder | None = None
    remaining: float | None = None
    permits: HeldPermits | None = None
    fault: NodeFault | None = None
    counter: int | None = None

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


@dataclass(frozen=True)
class Inspection:
    """What each node said about a lock, at about the same time. It may be over already."""

    names: list[str]
    text: str
    holder: Holder | None
    remaining: float | None
    is_free: bool
    is_read: bool
    is_unclear: bool
    token_at_most: int | None
    other_type: str | None
    permits: HeldPermits | None
    quorum: int
    nodes: list[NodeKey]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Eviction:
    """Whom a forced release put out, and what became of each."""

    before: Inspection
    evicted: list[tuple[Holder, ReleaseOutcome]]


@dataclass(frozen=True)
class ElectionState:
    """Who leads: ``kind`` is ``led``, ``no_leader`` or ``unknown``."""

    kind: str
    text: str
    leader: Holder | None = None
    label: str | None = None
    term_at_most: int | None = None
    remaining: float | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class NodeAnswer:
    """What came of asking a node: ``kind`` is ``told``, ``needs_none``, ``cannot_be_listed`` or ``silent``.

    ``former`` is the node of the list whose place this one has taken, if it is not on the list itself.
    """

    node: str
    kind: str
    text: str
    answer: Any = None
    former: str | None = None

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


@dataclass(frozen=True)
class Survey:
    """What a server says of itself, and whether it votes: ``abstains`` is for how many seconds it does not."""

    version: str
    role: str
    identity: str
    unsuitable: str | None
    log: str
    membership: str
    abstains: float | None
    largest_counter: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Examination:
    """What a server or a store is like. ``clock`` is how many seconds it is ahead, and the uncertainty of that."""

    version: str | None
    role: str | None
    uptime: float | None
    round_trip: float | None
    clock: tuple[float, float] | None
    run_id: str | None
    others: list[str]
    is_proxied: bool
    replicas: int | None
    has_log: bool | None
    fsync: str | None
    memory_used: int | None
    memory_limit: int | None
    memory_policy: str | None
    lacking: list[str] | None
    lacking_for_fair: list[str] | None
    out_of_reach: str | None
    refuses_writes: str | None
    survey: Survey | None
    file: dict[str, Any] | None
    cluster: dict[str, Any] | None
    """Of a Redis Cluster: the ``slots`` that were asked about, first and last, and its ``shards``, each with the ``address`` of its
    master, its ``slots``, and what it ``told`` (an `Examination`), or the ``reason`` why not."""


@dataclass(frozen=True)
class Admission:
    """Whether a node votes at once from now on: ``kind`` is ``admitted``, ``not_new`` or ``disagrees``."""

    kind: str
    abstains: float | None
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Scanned:
    """How many keys a node has told of."""

    keys: int
    has_more: bool
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Listing:
    """The locks that the nodes have."""

    nodes: list[NodeAnswer]
    locks: list[Inspection]
    quorum: int


@dataclass(frozen=True)
class Reconfigured:
    """What became of a node: ``kind`` is ``would``, ``changed``, ``already``, ``waits`` or ``missed``."""

    node: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.node}: {self.text}"


@dataclass(frozen=True)
class Reconfiguration:
    """What became of a change of the configuration that all agree on."""

    former: list[str]
    to: str
    quarantine: float
    nodes: list[Reconfigured]
    goes_on: bool
    is_complete: bool
    waits: float | None


@dataclass(frozen=True)
class Event:
    """Something that a manager did or noticed.

    ``kind`` is ``acquired``, ``not_acquired``, ``extended``, ``in_danger``, ``lost``, ``released``, ``handed_over``,
    ``asked``, ``answered``, ``abstained``, ``clock_stepped``, ``up``, ``down`` or ``replaced``; ``facts`` are those of
    ``leasehold::Observation``, with spans in seconds.
    """

    kind: str
    facts: dict[str, Any]

    @property
    def name(self) -> str | None:
        """The lock's name, where it is about a lock; several names with a comma between them."""
        names = self.facts.get("names")
        return None if names is None else ", ".join(names)
