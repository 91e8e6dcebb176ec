"""The manager for tasks of asyncio: the same names as in `leasehold`, with ``async with`` and ``await``.

The body of ``async with manager.lock(…)`` is cancelled when the lease is lost, at its next ``await``, and the block
raises `LeaseLost`: as ``asyncio.timeout`` does it. A task that is cancelled while it waits for a lock gives it up,
and loses none.

No thread waits: the event loop is woken by a socket. It needs ``add_reader``, which the loops of Unix have.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast, overload

from ._aio_bridge import bridge_of, run
from ._aio_operator import Operator
from ._base import NOTHING, Entered, LeaseBase, LockBase, ManagerBase, loss_at_end
from ._errors import LeaseLost
from ._facts import ElectionState, Eviction, Inspection, ReleaseOutcome
from ._options import DEFAULT, LockOptions, Span, Timeout
from ._timestamp import AsyncTimestampLease as TimestampLease
from ._timestamp import AsyncTimestampLock as TimestampLock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
    from types import TracebackType

    from typing_extensions import Self, Unpack

    from . import _native

__all__ = [
    "DetachedLease",
    "Election",
    "Leadership",
    "Lease",
    "Lock",
    "LockManager",
    "OncePer",
    "Operator",
    "Permit",
    "RwLock",
    "Semaphore",
    "TimestampLease",
    "TimestampLock",
    "Turn",
    "WriteLease",
    "WriteLock",
]

T = TypeVar("T")
L = TypeVar("L", bound="Lease")


class _Watch:
    """Cancels the task in a block when the lease is lost, and knows whether a cancellation was its own."""

    def __init__(self, native: _native.Lease) -> None:
        task = asyncio.current_task()
        if task is None:
            raise RuntimeError("async with wants a task")
        self._task = task
        # Before 3.11 tasks do not count their cancellations.
        self._before = task.cancelling() if hasattr(task, "cancelling") else 0
        self._is_over = self._has_cancelled = False
        self._bridge = bridge_of(asyncio.get_running_loop())
        self._number, lost = self._bridge.start(native.wait_lost(), self._tell)
        if self._number is None:
            self._tell(lost, None)

    def _tell(self, lost: object, error: BaseException | None) -> None:
        if not self._is_over:
            self._has_cancelled = True
            self._task.cancel()

    def end(self, kind: type[BaseException] | None) -> bool:
        """Whether the block ends since the lease was lost, and for no other reason."""
        self._is_over = True
        if self._number is not None:
            self._bridge.cancel(self._number)
        if not self._has_cancelled:
            return False
        others = self._task.uncancel() - self._before if hasattr(self._task, "uncancel") else 0
        return others <= 0 and kind is not None and issubclass(kind, asyncio.CancelledError)


class Lease(LeaseBase):
    """What is held. An asynchronous context manager that gives it back; one that is forgotten is given back in the
    background.

    The body of ``async with`` is cancelled when it is lost, and the block raises `LeaseLost`.
    """

    _watch: _Watch | None = None

    async def extend(self, ttl: Span | None = None) -> None:
        """Lets it live for its full TTL from now on, or for this TTL from now on and with each extension. Raises
        `ExtendError`, or `LeaseLost` once it is over."""
        await self._run(self._native.extend(ttl))

    async def ensure(self, remaining: Span) -> None:
        """Extends it if less than ``remaining`` is left. Raises as `extend`."""
        await self._run(self._native.ensure(remaining))

    async def release(self) -> ReleaseOutcome:
        """Gives the lock back on every node, and tells what became of it. It goes on when the task is cancelled."""
        operation = self._native.release()
        return NOTHING if operation is None else cast("ReleaseOutcome", await self._run(operation))

    async def detach(self) -> str:
        """Lets it live on its own, and returns its owner's text for `LockManager.detached`. Raises `LeaseLost`."""
        return cast("str", await self._run(self._native.detach()))

    async def hand_over(self) -> str:
        """Makes a text of it, which another process turns into a lease by `LockManager.adopt`. Raises `LeaseLost`."""
        return cast("str", await self._run(self._native.hand_over()))

    async def wait_lost(self) -> LeaseLost:
        """Waits until it is lost."""
        lost = self.lost
        return lost if lost is not None else cast("LeaseLost", await self._run(self._native.wait_lost()))

    async def changed(self) -> str:
        """Waits for the next change of the state, and returns that."""
        await self._run(self._native.changed())
        return self.state

    async def _run(self, operation: _native.Operation) -> Any:
        with self._busy:
            return await run(operation)

    async def __aenter__(self) -> Self:
        lost = self.lost
        if lost is not None:
            # A body that does not wait would end before it is cancelled, and what comes behind it would be.
            self._native.drop()
            raise lost
        self._watch = _Watch(self._native)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        watch, self._watch = self._watch, None
        ended = watch is not None and watch.end(kind)
        lost = self.lost
        if ended and lost is not None:
            self._native.drop()
            raise lost from error
        await self._end(kind is not None, lost)
        return None

    async def _end(self, failed: bool, lost: LeaseLost | None) -> None:
        outcome = None
        if lost is None:
            outcome = await self.release()
        else:
            # Nobody waits for the release of what is lost.
            self._native.drop()
        told = loss_at_end(lost, outcome, self.name)
        if told is not None and not failed:
            raise told


class WriteLease(Lease):
    """That of a writer."""

    async def downgrade(self) -> Lease:
        """Goes on as a reader; no other writer is in between. If it fails, nothing is held. Raises `DowngradeError`."""
        return Lease(cast("_native.Lease", await self._run(self._native.downgrade())), self._manager)


class Permit(Lease):
    """One of the permits of a semaphore."""

    @property
    def slot(self) -> int:
        """Its number, from 0, which nobody else has meanwhile."""
        return cast("int", self._native.slot)


class Turn(Lease):
    """The lock of work that is done once in a period. An ``async with`` block that ends well says that it is done."""

    @property
    def next_period(self) -> float:
        """When the next period begins, as a Unix time."""
        return cast("float", self._native.next_period)

    async def done(self) -> None:
        """Says that the work is done. Raises `NotKept` if no quorum knows: then it may be done again."""
        await self._run(self._native.done())

    async def _end(self, failed: bool, lost: LeaseLost | None) -> None:
        if failed or lost is not None or self.state in ("released", "foreign"):
            await super()._end(failed, lost)
        else:
            await self.done()


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

    async def resign(self) -> ReleaseOutcome:
        """As `release`: the next one is elected at once."""
        return await self.release()


class Lock(LockBase, Generic[L]):
    """A lock. ``async with lock as lease:`` waits for it, and gives it back at the end. ``await lock`` waits as well.

    Tasks may share one, and each waits for its own lease. A task has one block of it at a time.
    """

    _lease: type[Any] = Lease

    def __init__(self, *of: Any) -> None:
        super().__init__(*of)
        self._entered = Entered()

    async def acquire(self, timeout: Timeout = DEFAULT) -> L:
        """Waits for the lock: for ``timeout`` seconds, or as it was made. 0 tries once, None waits for ever.

        Raises `Held`, `Unreachable` or another `AcquireError`. Cancelling the task gives it up, and loses no lock.
        """
        # First: in a child this makes the manager again.
        operation = self._acquire(timeout)
        with self._manager._busy:
            native = await run(operation)
        return cast("L", self._lease(native, self._manager))

    async def try_acquire(self) -> L:
        """Tries once."""
        return await self.acquire(0)

    def __await__(self) -> Generator[Any, None, L]:
        return self.acquire().__await__()

    async def __aenter__(self) -> L:
        self._entered.check(asyncio.current_task())
        lease = await self.acquire()
        await lease.__aenter__()
        self._entered.enter(asyncio.current_task(), lease)
        return lease

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        lease = self._entered.leave(asyncio.current_task())
        return cast("bool | None", await lease.__aexit__(kind, error, trace))


class WriteLock(Lock[WriteLease]):
    """The lock of a writer."""

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
    """An election, won by one at a time. ``async with election as leadership:`` campaigns for as long as it takes."""

    _lease = Leadership

    async def campaign(self, timeout: Timeout = DEFAULT) -> Leadership:
        """Waits until elected: for ever, unless ``timeout`` says otherwise. Raises as `acquire`."""
        return await self.acquire(timeout)

    async def leader(self) -> ElectionState:
        """Who leads now. What is told may be over when it is read."""
        return cast("ElectionState", await run(self._handle().leader()))

    async def observe(self) -> AsyncIterator[ElectionState]:
        """Who leads, now and after each change, until the manager is shut down."""
        lookout = self._handle().observe()
        while (state := await run(lookout.next())) is not None:
            yield cast("ElectionState", state)

    async def lead_repeatedly(
        self, work: Callable[[Leadership], Awaitable[T]], lost: Callable[[LeaseLost], object] | None = None
    ) -> T:
        """Campaigns, leads, and campaigns again after each loss, until ``work`` returns while it leads.

        ``work`` is cancelled when the leadership is lost. ``lost`` is told of each loss; what it raises ends this.
        """
        while True:
            try:
                async with self as leadership:
                    return await work(leadership)
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
        """The lock of a reader: ``async with prices.read() as lease:``. It has no fencing token."""
        name = self._name
        return Lock(self._manager, lambda native, options: native.rwlock(name, False, options), self._options, timeout)

    def write(self, *, timeout: Timeout = DEFAULT) -> WriteLock:
        """The lock of a writer: ``async with prices.write() as lease:``."""
        name = self._name
        return WriteLock(
            self._manager, lambda native, options: native.rwlock(name, True, options), self._options, timeout
        )


class DetachedLease:
    """A lease that nobody extends by itself, known by its owner's text."""

    def __init__(self, native: _native.Detached) -> None:
        self._native = native

    async def extend(self, ttl: Span) -> float:
        """Lets it live for ``ttl`` from now on, and returns for how many seconds it may be relied upon. Raises
        `ExtendError`."""
        return cast("float", await run(self._native.extend(ttl)))

    async def release(self) -> ReleaseOutcome:
        """Gives the lock back."""
        return cast("ReleaseOutcome", await run(self._native.release()))


class LockManager(ManagerBase):
    """As `leasehold.LockManager`, for tasks: one for each program is enough, and loops may share it.

    It is shut down at the end of an ``async with`` block, and at the end of the program.
    """

    @overload
    def lock(
        self, name: str, *, timeout: Timeout = ..., once_per: None = ..., **options: Unpack[LockOptions]
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
        """The lock of this name, which is held once at a time. Asks nobody. Arguments as of
        `leasehold.LockManager.lock`."""
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

    async def adopt(self, text: str, **options: Unpack[LockOptions]) -> Lease:
        """The lease that another process has handed over by this text. At most one gets it. Raises `AdoptError`."""
        return Lease(await run(self._handle().adopt(text, options)), self)

    async def inspect(self, name: str) -> Inspection:
        """What each node has under this name. Changes nothing. Raises `InspectError`."""
        return cast("Inspection", await run(self._handle().inspect(name)))

    async def force_release(self, name: str) -> Eviction:
        """Takes the lock away from whoever has it, who is told of the loss. For operators. Raises `InspectError`."""
        return cast("Eviction", await run(self._handle().force_release(name)))

    def operator(self) -> Operator:
        """What an operator can do with these nodes: survey, list, admit, reconfigure."""
        return Operator(self._handle().operator())

    async def shutdown(self, *, release: bool = True) -> int | None:
        """As `leasehold.LockManager.shutdown`."""
        native = self._handle()
        if release:
            native.release_all()
        self._is_shut_down = True
        return cast("int | None", await run(native.shutdown()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown()
