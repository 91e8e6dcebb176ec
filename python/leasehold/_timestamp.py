"""Locks that are shared with programs of ``SETNX`` and ``GETSET``, which keep a Unix time in the key.

They trust the wall clocks of all programs to a second, have no fencing tokens and do not extend themselves: they are
for moving away from that lock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from . import _native
from ._aio_bridge import run
from ._base import NOTHING, timeout_of
from ._facts import ReleaseOutcome
from ._options import DEFAULT, Span, Timeout

if TYPE_CHECKING:
    from typing_extensions import Self


class _Base:
    """``lock_timeout`` is that of the other programs, in whole seconds. Raises `ConfigError`; connects when it is
    first used."""

    def __init__(self, url: str, name: str, *, lock_timeout: Span = 3, pause: Span = 0.01) -> None:
        self._given = (url, name, lock_timeout, pause)
        self._lock: _native.TimestampLock | None = None
        self._handle()

    def _handle(self) -> _native.TimestampLock:
        lock = self._lock
        if lock is None or not lock.is_ours():
            lock = self._lock = _native.TimestampLock(*self._given)
        return lock


class _LeaseBase:
    def __init__(self, native: _native.TimestampLease) -> None:
        self._native = native

    @property
    def value(self) -> int:
        """The Unix time in the key."""
        return self._native.value

    @property
    def valid(self) -> bool:
        """Whether it may be relied upon now."""
        return self._native.is_valid()

    @property
    def remaining(self) -> float:
        """For how many seconds it may be relied upon."""
        return self._native.remaining()


class TimestampLease(_LeaseBase):
    """What is held. It is given back at the end of a ``with`` block, or when it is forgotten."""

    def extend(self) -> None:
        """Moves its end. Raises `ExtendError`."""
        self._native.extend().wait()

    def release(self) -> ReleaseOutcome:
        """Gives it back. ``kind`` may be ``gone`` or ``overwritten`` too: then others may have had it at the same
        time."""
        operation = self._native.release()
        return NOTHING if operation is None else cast("ReleaseOutcome", operation.wait())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


class TimestampLock(_Base):
    """The lock ``name`` of the server at ``url``. ``with lock.acquire() as lease:``"""

    def acquire(self, timeout: Timeout = DEFAULT) -> TimestampLease:
        """Waits for it: ten seconds, or ``timeout``. Raises `AcquireError`."""
        return TimestampLease(self._handle().acquire(timeout_of(timeout)).wait())


class AsyncTimestampLease(_LeaseBase):
    """What is held. It is given back at the end of an ``async with`` block, or when it is forgotten."""

    async def extend(self) -> None:
        """Moves its end. Raises `ExtendError`."""
        await run(self._native.extend())

    async def release(self) -> ReleaseOutcome:
        """Gives it back. ``kind`` may be ``gone`` or ``overwritten`` too: then others may have had it at the same
        time."""
        operation = self._native.release()
        return NOTHING if operation is None else cast("ReleaseOutcome", await run(operation))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.release()


class AsyncTimestampLock(_Base):
    """The lock ``name`` of the server at ``url``. ``async with await lock.acquire() as lease:``"""

    async def acquire(self, timeout: Timeout = DEFAULT) -> AsyncTimestampLease:
        """Waits for it: ten seconds, or ``timeout``. Raises `AcquireError`."""
        return AsyncTimestampLease(await run(self._handle().acquire(timeout_of(timeout))))
