"""Options of locks and managers. Spans of time are seconds, or ``datetime.timedelta``."""

from __future__ import annotations

import enum
import os
from collections.abc import Callable
from datetime import timedelta
from typing import Final, TypedDict, Union

from ._facts import Event

__all__ = ["DEFAULT", "LockOptions", "ManagerOptions", "Span", "Timeout"]

Span = Union[float, timedelta]
Path = Union[str, "os.PathLike[str]"]
Observer = Callable[[Event], object]


class Default(enum.Enum):
    """What is meant when nothing is said."""

    DEFAULT = "default"

    def __repr__(self) -> str:
        return "DEFAULT"


DEFAULT: Final = Default.DEFAULT
"""Wait as long as the lock's options say: about five seconds, and half a minute for servers that are new."""

Timeout = Union[float, timedelta, None, Default]
"""How long to wait: seconds, 0 to try once, None to wait for ever, or `DEFAULT`."""


class LockOptions(TypedDict, total=False):
    """How a lock behaves. What is left out is as the manager's ``options`` say, or as said here."""

    ttl: Span
    """How long the nodes keep the lock if nobody extends it; 10 s. If the holder dies, others wait this long."""
    fair: bool
    """Waiters are served first come, first served, in whichever process they are; False."""
    renew_every: Span | None
    """How often it extends itself: a third of the TTL. None: never."""
    max_hold: Span | None
    """How long it is held at most; a day. None: no limit."""
    max_extensions: int
    """How often it extends itself at most; no limit."""
    progress_within: Span
    """It extends itself only if `heartbeat` was called within this time; not asked for."""
    warn_before: Span
    """How much is left when it is said to be in danger; a third of the TTL."""
    min_hold: Span
    """For how long the lock is kept at least, however short the work; none."""
    lock_delay: Span
    """For how long others are kept out after a loss; none."""
    tries: int | None
    """How often `acquire` tries without a ``timeout``; 32. None: no limit."""
    pause: tuple[Span, Span]
    """The shortest and the longest pause between tries; 50 to 250 ms."""
    give_up_unreachable_after: Span
    """How long to go on when no quorum answers; as long as otherwise."""
    node_limit: Span
    """How long a node may take to answer; 5 % of the TTL, 20 to 500 ms."""
    drift: tuple[float, Span]
    """What is taken off the TTL because clocks do not run alike: a rate and a span; (0.01, 0.002)."""
    margin: Span
    """How much earlier than it must the loss is told; 5 ms."""
    step_margin: Span
    """By how much a node's clock may be set forward without harm; none."""
    local_queue: bool
    """Callers of one manager wait for each other instead of asking all; True."""
    ask_all_at_once: bool
    """Ask all nodes even where others want the lock too; False."""
    label: str | None
    """What the holder is called, instead of its host and process; of an election, beside them. None: it says nothing
    at all."""


class ManagerOptions(TypedDict, total=False):
    """Options of a manager. All who use the same nodes must say the same, but for ``observer``, ``log`` and
    ``options``."""

    options: LockOptions
    """Those of locks that say nothing."""
    observer: Observer
    """Called with each `Event`, by a thread of this package."""
    log: bool
    """Whether to log to ``logging.getLogger("leasehold")``; True."""
    plain: bool
    """Bare Redlock keys, shared with other libraries: no fencing tokens, no readers, no permits; False."""
    restart_guard: str
    """What happens when a node may have forgotten votes: ``quarantine``, ``trust-aof`` or ``off``."""
    max_ttl: Span
    """How long the TTL of any lock on these nodes may be; 30 s."""
    clock_skew: Span
    """By how much wall clocks may differ; 2 s."""
    tolerate_forgetful: int
    """How many nodes may forget at the wrong moment; 0."""
    namespace: str
    """Under which name the nodes keep what they know of themselves; ``leasehold``."""
    key_format: str
    """Under which keys servers keep locks: a text with ``{}`` in it; the name as it is."""
    cluster: str
    """What the set of nodes is called, instead of by its addresses."""
    replicated: tuple[int, Span]
    """To how many replicas a vote must have come, within which time."""
    on_disk: tuple[str, Span]
    """On which disks a vote must be (``server``, ``2``, ``server+1``), within which time."""
