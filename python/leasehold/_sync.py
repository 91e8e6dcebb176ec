"""The manager for threads."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ._base import NOTHING, Entered, LeaseBase, LockBase, ManagerBase, loss_at_end
from ._facts import ElectionState, Eviction, Inspection, ReleaseOutcome
from ._operator import Operator
from ._options import DEFAULT, LockOptions, Span, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from . import _native
    from ._errors import LeaseLost

T = TypeVar("T")
L = TypeVar("L", bound="Lease")


class Lease(LeaseBase):
    """What is held. A context manager that gives it back; one that is forgotten is given back in the background.

    At the end of a ``with`` block that ended well, `LeaseLost` is raised if it was lost meanwhile.
    """

    def extend(self, ttl: Span | None = None) -> None:
        """Lets it live for its full TTL from now on, or for this TTL from now on and with each extension.

        Waits for a quorum, for the nodes' time limit at most. Raises `ExtendError`, or `LeaseLost`
        once it is over; what fails changes nothing.
        """
        self._wait(self._native.extend(ttl))

    def ensure(self, remaining: Span) -> None:
        """Extends it if less than ``remaining`` is left. Raises as `extend`."""
        self._wait(self._native.ensure(remaining))

    def release(self) -> ReleaseOutcome:
        """Gives the lock back on every node, and tells what became of it.

        Waits until a quorum is known to be free of it, for the nodes' time limit at most. Once more, or in a fork, it
        does nothing.
        """
        operation = self._native.release()
        return NOTHING if operation is None else cast("ReleaseOutcome", self._wait(operation))

    def detach(self) -> str:
        """Lets it live on its own, and returns its owner's text for `LockManager.detached`. It ends with its TTL
        unless extended.

        Raises `LeaseLost`.
        """
        return cast("str", self._wait(self._native.detach()))

    def hand_over(self) -> str:
        """Makes a text of it, which another process turns into a lease by `LockManager.adopt`. Raises `LeaseLost`."""
        return cast("str", self._wait(self._native.hand_over()))

    def wait_lost(self, timeout: float | None = None) -> LeaseLost | None:
        """Waits until it is lost; None if it was not within ``timeout`` seconds."""
        lost = self.lost
        if lost is not None:
            return lost
        return cast("LeaseLost | None", self._native.wait_lost().wait(timeout))

    def changed(self, timeout: float | None = None) -> str:
        """Waits for the next change of the state, for ``timeout`` seconds at most, and returns the state."""
        self._native.changed().wait(timeout)
        return self.state

    def _wait(self, operation: _native.Operation) -> Any:
        with self._busy:
            return operation.wait()

    def _end(self, failed: bool) -> None:
        """Ends a block: gives it back, and raises if it was lost and nothing else is raised."""
        lost, outcome = self.lost, None
        if lost is None:
            outcome = self.release()
        else:
            # Nobody waits for the release of what is lost.
            self._native.drop()
        told = loss_at_end(lost, outcome, self.name)
        if told is not None and not failed:
            raise told

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(kind is not None)


class WriteLease(Lease):
    """That of a writer."""

    def downgrade(self) -> Lease:
        """Goes on as a reader; no other writer is in between. If it fails, nothing is held.

        Raises `DowngradeError`.
        """
        return Lease(cast("_native.Lease", self._wait(self._native.downgrade())), self._manager)


class Permit(Lease):
    """One of the permits of a semaphore."""

    @property
    def slot(self) -> int:
        """Its number, from 0, which nobody else has meanwhile."""
        return cast("int", self._native.slot)


class Turn(Lease):
    """The lock of work that is done once in a period. A ``with`` block that ends well says that it is done."""

    @property
    def next_period(self) -> float:
        """When the next period begins, as a Unix time."""
        return cast("float", self._native.next_period)

    def done(self) -> None:
        """Says that the work is done, so that nobody does it again in this period.

        Raises `NotKept` if no quorum knows: then it may be done again.
        """
        self._wait(self._native.done())

    def _end(self, failed: bool) -> None:
        if failed or self.state in ("lost", "released", "foreign"):
            super()._end(failed)
        else:
            self.done()


class Leadership(Lease):
    """That of a leader, until it resigns, ends or loses it."""

    @property
    def term(self) -> int:
        """The fencing token: larger for every later leader."""
        return self.fencing_token

    @property
    def is_leader(self) -> bool:
        """Whether it leads now. Reads the clock."""
        return self.valid

    def resign(self) -> ReleaseOutcome:
        """As `release`: the next one is elected at once."""
        return self.release()


class Lock(LockBase, Generic[L]):
    """A lock. ``with lock as lease:`` waits for it, and gives it back at the end.

    Threads may share one, and each waits for its own lease. A thread has one block of it at a time.
    """

    _lease: type[Any] = Lease

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self._entered = Entered()

    def acquire(self, timeout: Timeout = DEFAULT) -> L:
        """Waits for the lock: for ``timeout`` seconds, or as it was made. 0 tries once, None waits for ever.

        Raises `Held`, `Unreachable` or another `AcquireError`. Signals are served while it waits; what one raises
        gives it up.
        """
        # First: in a child this makes the manager again.
        operation = self._acquire(timeout)
        with self._manager._busy:
            native = operation.wait()
        return cast("L", self._lease(native, self._manager))

    def try_acquire(self) -> L:
        """Tries once."""
        return self.acquire(0)

    def __enter__(self) -> L:
        self._entered.check(threading.get_ident())
        lease = self.acquire()
        self._entered.enter(threading.get_ident(), lease)
        return lease

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered.leave(threading.get_ident())._end(kind is not None)


class WriteLock(Lock[WriteLease]):
    _lease = WriteLease


class Semaphore(Lock[Permit]):
    """So many permits, each of which has one holder."""

    _lease = Permit

    @property
    def permits(self) -> int:
        """How many there are."""
        return cast("int", self._handle().permits)


class OncePer(Lock[Turn]):
    """Work that is done once in each period. Entering raises `AlreadyDone` if it was done in this one."""

    _lease = Turn


class Election(Lock[Leadership]):
    """An election, won by one at a time. ``with election as leadership:`` campaigns for as long as it takes."""

    _lease = Leadership

    def campaign(self, timeout: Timeout = DEFAULT) -> Leadership:
        """Waits until elected: for ever, unless ``timeout`` says otherwise. Raises as `acquire`."""
        return self.acquire(timeout)

    def leader(self) -> ElectionState:
        """Who leads now. What is told may be over when it is read."""
        return cast("ElectionState", self._handle().leader().wait())

    def observe(self) -> Iterator[ElectionState]:
        """Who leads, now and after each change, until the manager is shut down."""
        lookout = self._handle().observe()
        while (state := lookout.next().wait()) is not None:
            yield cast("ElectionState", state)

    def lead_repeatedly(self, work: Callable[[Leadership], T], lost: Callable[[LeaseLost], object] | None = None) -> T:
        """Campaigns, leads, and campaigns again after each loss, until ``work`` returns while it leads.

        ``work`` asks `Lease.valid` before each step that only a leader may do, or calls `raise_if_lost`. ``lost`` is
        told of each loss; what it raises ends this.
        """
        from ._errors import LeaseLost

        while True:
            try:
                with self as leadership:
                    return work(leadership)
            except LeaseLost as loss:
                if loss.name != ", ".join(self.names):
                    # That of another lock is the work's own matter.
                    raise
                if lost is not None:
                    lost(loss)


class RwLock:
    """A lock that any number of readers have at once, or one writer alone, in the order of their coming."""

    def __init__(self, manager: LockManager, name: str, options: LockOptions) -> None:
        self._manager, self._name, self._options = manager, name, options
        self.read()

    def read(self, *, timeout: Timeout = DEFAULT) -> Lock[Lease]:
        """The lock of a reader: ``with prices.read() as lease:``. It has no fencing token."""
        name = self._name
        return Lock(self._manager, lambda native, options: native.rwlock(name, False, options), self._options, timeout)

    def write(self, *, timeout: Timeout = DEFAULT) -> WriteLock:
        """The lock of a writer: ``with prices.write() as lease:``."""
        name = self._name
        return WriteLock(
            self._manager, lambda native, options: native.rwlock(name, True, options), self._options, timeout
        )


class DetachedLease:
    """A lease that nobody extends by itself, known by its owner's text."""

    def __init__(self, native: _native.Detached) -> None:
        self._native = native

    def extend(self, ttl: Span) -> float:
        """Lets it live for ``ttl`` from now on, and returns for how many seconds it may be relied upon. Raises
        `ExtendError`."""
        return cast("float", self._native.extend(ttl).wait())

    def release(self) -> ReleaseOutcome:
        """Gives the lock back."""
        return cast("ReleaseOutcome", self._native.release().wait())


class LockManager(ManagerBase):
    """Makes locks on these nodes. One for each program is enough; threads share it.

    ``nodes`` are addresses of Redis or Valkey servers: ``redis://``, ``rediss://``, ``unix://``,
    ``redis+sentinel://`` or ``host:port``; three or five independent ones for locks that bear the loss of one or two.
    Waits for none of them: those that are not there are told by the first lock that needs them. Options:
    `ManagerOptions`. Raises `ConfigError`.

    In a child that was forked it is made again at its first use. It is shut down at the end of a ``with`` block, and
    at the end of the program.
    """

    @overload
    def lock(
        self,
        name: str,
        *,
        timeout: Timeout = ...,
        once_per: None = ...,
        **options: Unpack[LockOptions],
    ) -> Lock[Lease]: ...

    @overload
    def lock(
        self,
        name: str,
        *,
        timeout: Timeout = ...,
        once_per: Span,
        period_offset: Span = ...,
        **options: Unpack[LockOptions],
    ) -> OncePer: ...

    def lock(
        self,
        name: str,
        *,
        timeout: Timeout = DEFAULT,
        once_per: Span | None = None,
        period_offset: Span = 0.0,
        **options: Unpack[LockOptions],
    ) -> Lock[Lease] | OncePer:
        """The lock of this name, which is held once at a time. Asks nobody.

        ``timeout`` is how long to wait: seconds, 0 to try once, None for ever; without it, about five seconds, and up
        to half a minute for servers that are new. Options: `LockOptions`. Raises `ConfigError`.

        With ``once_per`` it is the lock of work that is done once in each period of so many seconds, cut by the wall
        clock (``period_offset`` later): a ``with`` block that ends well says that it is done, and `AlreadyDone` that
        it was.
        """
        if once_per is not None:
            period = once_per
            return OncePer(
                self,
                lambda native, options: native.once_per(name, period, period_offset, options),
                options,
                timeout,
            )
        return Lock(self, lambda native, options: native.mutex([name], options), options, timeout)

    def lock_all(
        self, names: Iterable[str], *, timeout: Timeout = DEFAULT, **options: Unpack[LockOptions]
    ) -> Lock[Lease]:
        """One lock on all of these names, up to 64, granted all or none: nobody waits in a circle. It cannot be
        fair."""
        given = list(names)
        return Lock(self, lambda native, options: native.mutex(given, options), options, timeout)

    def rwlock(self, name: str, **options: Unpack[LockOptions]) -> RwLock:
        """A lock that any number of readers have at once, or one writer alone."""
        return RwLock(self, name, options)

    def semaphore(
        self, name: str, permits: int, *, timeout: Timeout = DEFAULT, **options: Unpack[LockOptions]
    ) -> Semaphore:
        """So many permits, each of which has one holder. All who use the name must say the same number."""
        return Semaphore(self, lambda native, options: native.semaphore(name, permits, options), options, timeout)

    def election(self, name: str, *, timeout: Timeout = DEFAULT, **options: Unpack[LockOptions]) -> Election:
        """An election: the lock of its name, held by the leader. ``label`` is what observers know the leader by."""
        return Election(self, lambda native, options: native.election(name, options), options, timeout)

    def detached(self, names: str | Iterable[str], owner: str, *, kind: str = "lock") -> DetachedLease:
        """The lease of ``names`` that `Lease.detach` made ``owner`` of. ``kind`` is ``lock``, ``read`` or
        ``permit``."""
        given = [names] if isinstance(names, str) else list(names)
        return DetachedLease(self._handle().detached(given, owner, kind))

    def adopt(self, text: str, **options: Unpack[LockOptions]) -> Lease:
        """The lease that another process has handed over by this text. At most one gets it. Raises `AdoptError`."""
        return Lease(self._handle().adopt(text, options).wait(), self)

    def inspect(self, name: str) -> Inspection:
        """What each node has under this name. Changes nothing. Raises `InspectError`."""
        return cast("Inspection", self._handle().inspect(name).wait())

    def force_release(self, name: str) -> Eviction:
        """Takes the lock away from whoever has it, who is told of the loss. For operators. Raises `InspectError`."""
        return cast("Eviction", self._handle().force_release(name).wait())

    def operator(self) -> Operator:
        """What an operator can do with these nodes: survey, list, admit, reconfigure."""
        return Operator(self._handle().operator())

    def shutdown(self, *, release: bool = True) -> int | None:
        """Gives back what is held (unless ``release`` is False), ends all waiting, and waits until the nodes know.

        Takes a second at most, and 0.2 ms more for each release. Returns how many releases are not confirmed by all
        nodes; None if that is not known.
        """
        native = self._handle()
        if release:
            native.release_all()
        self._is_shut_down = True
        return cast("int | None", native.shutdown().wait())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()


__all__ = [
    "DetachedLease",
    "Election",
    "Leadership",
    "Lease",
    "Lock",
    "LockManager",
    "OncePer",
    "Permit",
    "RwLock",
    "Semaphore",
    "Turn",
    "WriteLease",
    "WriteLock",
]
