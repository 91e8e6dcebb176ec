"""The exceptions, by what one can do about them.

Each has the text of the error of the library that it is. All can be pickled, as task queues want it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._facts import Holder, NodeFault

__all__ = [
    "Abstained",
    "AcquireError",
    "AdoptError",
    "AlreadyDone",
    "ConfigError",
    "Disagreement",
    "DowngradeError",
    "ExtendError",
    "Forked",
    "Held",
    "InspectError",
    "LeaseLost",
    "LeaseholdError",
    "NotKept",
    "OtherPermits",
    "ReconfigureError",
    "ShutDown",
    "Stale",
    "TooLate",
    "Unreachable",
]


def _again(kind: type[LeaseholdError], text: str, facts: dict[str, Any]) -> LeaseholdError:
    return kind(text, **facts)


class LeaseholdError(Exception):
    """Every exception of this package. ``name`` is that of the lock, where there is one."""

    name: str | None = None

    def __init__(self, text: str, **facts: Any) -> None:
        super().__init__(text)
        self._facts = facts
        for name, value in facts.items():
            setattr(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return (_again, (type(self), str(self), self._facts))


class ConfigError(LeaseholdError, ValueError):
    """Options, addresses or names are wrong. Trying again does not help."""


class AcquireError(LeaseholdError):
    """A lock was not acquired. Its subclasses say what helps.

    ``timed_out`` says that the patience ran out; the class is that of the last reason. ``waited`` is in seconds.
    ``nodes`` are those that did not vote, and why.
    """

    timed_out: bool = False
    waited: float | None = None
    attempts: int | None = None
    nodes: list[NodeFault] = []


class Held(AcquireError):
    """Somebody else has it, tried at the same time, or waits and comes first. Trying again later helps.

    ``holder`` is who has it, if the nodes told. ``remaining`` is for how many seconds it is held at most unless
    extended. ``ahead`` is how many waiters of a fair lock come first. ``permits`` and ``taken_permits`` tell of a
    semaphore.
    """

    holder: Holder | None = None
    remaining: float | None = None
    ahead: int | None = None
    held_on: list[str] = []
    kept_on: list[str] = []
    granted_on: list[str] = []
    permits: int | None = None
    taken_permits: int | None = None


class AlreadyDone(Held):
    """The work was done in this period (``once_per``). ``remaining`` is in how many seconds the next one begins."""


class Unreachable(AcquireError):
    """Too few nodes answered. Trying again helps once the nodes are back: ``nodes`` says which are not, and why."""

    quorum: int = 0


class Abstained(AcquireError):
    """Too many nodes do not vote for a while, since they are new or have restarted. Waiting helps, for ``remaining``
    seconds; so does ``operator().admit()``, for those who know that nothing was forgotten."""

    quorum: int = 0
    remaining: float = 0.0


class Disagreement(AcquireError):
    """Too many nodes are used by others with another configuration than ``ours``. Trying again does not help."""

    ours: str = ""


class OtherPermits(AcquireError):
    """Others have permits of this name that are ``theirs`` in number, and not ``ours``: for ``remaining`` seconds at
    most."""

    ours: int = 0
    theirs: int = 0
    remaining: float = 0.0


class TooLate(AcquireError):
    """The vote took ``elapsed`` seconds, which left nothing of the TTL. A longer ``ttl`` helps."""

    elapsed: float = 0.0
    ttl: float = 0.0


class ShutDown(AcquireError):
    """The manager was shut down."""


class Forked(AcquireError):
    """This process is a fork of the one that has the native manager."""


class LeaseLost(LeaseholdError):
    """A lease is over against the will of its holder, and somebody else may have the lock.

    ``cause`` is a word: ``timed_out``, ``gone``, ``clock_stepped``, ``extension_limit``, ``hold_limit``,
    ``no_progress``, ``forked``, ``released``, ``taken_by_another`` or ``stopped``. ``holder`` is who has it now, if
    the nodes told.
    """

    cause: str = "other"
    holder: Holder | None = None


class ExtendError(LeaseholdError):
    """A lease was not extended. Unless ``is_lost``, it is as valid as it was.

    ``kind`` is a word: ``lost``, ``released``, ``gone``, ``unreachable``, ``limit``, ``too_short``, ``timing`` or
    ``shut_down``.
    """

    kind: str = "other"
    is_lost: bool = False
    nodes: list[NodeFault] = []
    holder: Holder | None = None


class NotKept(LeaseholdError):
    """The work of this period is done, but too few nodes know: it may be done again."""


class AdoptError(LeaseholdError):
    """A lease was not taken over from another process."""

    holder: Holder | None = None


class DowngradeError(LeaseholdError):
    """A writer did not become a reader. Nothing is held."""

    holder: Holder | None = None


class InspectError(LeaseholdError):
    """A lock could not be looked at."""


class ReconfigureError(LeaseholdError):
    """The nodes were not made to use another configuration."""


class Stale(LeaseholdError):
    """A fenced write was refused: the token is older than one that was seen. ``newest`` is that one, if it is known."""

    token: int = 0
    newest: int | None = None
