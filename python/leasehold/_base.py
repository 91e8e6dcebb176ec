"""What the managers, locks and leases of threads and of asyncio have in common."""

from __future__ import annotations

import os
import threading
import weakref
from typing import TYPE_CHECKING, Any, ClassVar, cast

from . import _native, _process
from ._errors import ConfigError, LeaseLost, ShutDown
from ._events import Teller
from ._facts import NodeHealth, ReleaseOutcome
from ._options import DEFAULT, LockOptions, Timeout

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from typing_extensions import Self, Unpack

    from ._options import ManagerOptions, Path

_FOR_EVER = 10 * 365 * 86_400.0

_log_teller: tuple[int, Teller] | None = None


def _teller(observer: Any, logs: bool) -> Teller | None:
    """That of a manager with an observer, or the one that all others of this process share."""
    global _log_teller
    if observer is not None:
        return Teller(observer, logs)
    if not logs:
        return None
    if _log_teller is None or _log_teller[0] != os.getpid():
        _log_teller = (os.getpid(), Teller(None, True))
    return _log_teller[1]


class ManagerBase:
    """Makes the native manager, and makes it again where it must not be shared."""

    def __init__(self, nodes: Iterable[str], **options: Unpack[ManagerOptions]) -> None:
        if isinstance(nodes, str):
            raise ConfigError(f"nodes: {nodes!r} is one text; give a list of addresses")
        self._begin(("nodes", list(nodes)), options)

    @classmethod
    def memory(cls, count: int = 3, **options: Unpack[ManagerOptions]) -> Self:
        """A manager of so many nodes in the memory of this process, of which nobody else knows: for examples and
        first steps."""
        return cls._of(("memory", count), options)

    @classmethod
    def memory_nodes(cls, nodes: Iterable[_native.MemoryNode], **options: Unpack[ManagerOptions]) -> Self:
        """A manager of these nodes in memory. Managers that share them exclude each other."""
        return cls._of(("memory_nodes", list(nodes)), options)

    @classmethod
    def file(cls, path: Path, **options: Unpack[ManagerOptions]) -> Self:
        """A manager of the store in the folder ``path``, which the processes of this machine share; makes it if it is
        not there.

        A process that dies frees its locks at once.
        """
        return cls._of(("file", os.fspath(path)), options)

    @classmethod
    def from_env(cls, **options: Unpack[ManagerOptions]) -> Self:
        """A manager of the nodes that ``LEASEHOLD_NODES`` or the configuration file of the ``leasehold`` command names.

        Raises `ConfigError`, which names the variable, or the file and the line: also if no server is named anywhere.
        """
        return cls._of(("env",), options)

    @classmethod
    def from_config(cls, path: Path, named: str | None = None, **options: Unpack[ManagerOptions]) -> Self:
        """A manager of the nodes that this configuration file names: of its cluster of this name, of its default, or
        its only one.

        Reads no variables. Raises `ConfigError`, which names the file and the line.
        """
        return cls._of(("config", os.fspath(path), named), options)

    @classmethod
    def _of(cls, source: tuple[Any, ...], options: Mapping[str, Any]) -> Self:
        manager = cls.__new__(cls)
        manager._begin(source, options)
        return manager

    def _begin(self, source: tuple[Any, ...], options: Mapping[str, Any]) -> None:
        given = dict(options)
        self._observer = given.pop("observer", None)
        self._logs = bool(given.pop("log", True))
        self._given = {"source": source, **given}
        self._opened: _native.Manager | None = None
        self._own_teller: Teller | None = None
        self._is_shut_down = False
        self._folders: list[str] = []
        self._kept: weakref.WeakSet[LockBase] = weakref.WeakSet()
        self._busy = Busy()
        self._handle()

    def _handle(self) -> _native.Manager:
        opened = self._opened
        if opened is not None and opened.is_ours():
            return opened
        with _process.making:
            if self._opened is None or not self._opened.is_ours():
                if self._is_shut_down:
                    raise ShutDown("the lock manager was shut down")
                self._opened = opened = self._open()
                self._folders = [name for name in opened.nodes() if os.path.isdir(name)]
                _process.managers.add(self)
                _process.at_exit_of_child()
            return self._opened

    def _open(self) -> _native.Manager:
        self._busy = Busy()
        teller = _teller(self._observer, self._logs)
        self._own_teller = teller if self._observer is not None else None
        given = dict(self._given)
        if given["source"][0] == "world":
            return cast("_native.Manager", given.pop("source")[1]._open(given))
        if teller is not None:
            given["observer"] = teller.queue
        return _native.Manager(given)

    def _before_fork(self) -> None:
        """A store that is open in the parent cannot be opened in the child: so it is closed, unless it is in use."""
        opened = self._opened
        if opened is None or not opened.is_ours() or self._is_shut_down or self._busy:
            return
        if not self._folders or opened.held():
            return
        opened.shutdown().wait(1.0)
        self._opened = opened = None
        for lock in list(self._kept):
            lock._forget()
        for folder in self._folders:
            _process.until_closed(folder)

    def _at_exit(self) -> None:
        opened = self._opened
        if opened is None or not opened.is_ours():
            return
        opened.release_all()
        opened.shutdown().wait(2.0)
        if self._own_teller is not None:
            self._own_teller.close()
        elif _log_teller is not None and _log_teller[0] == os.getpid():
            _log_teller[1].flush()

    @property
    def nodes(self) -> list[str]:
        """The nodes' names, in the order in which they were given."""
        return self._handle().nodes()

    def health(self) -> list[NodeHealth]:
        """How the nodes are, as far as this manager has noticed: asks nobody."""
        return self._handle().health()


class Busy:
    """How many calls wait: a store that somebody waits for is not closed before a fork."""

    def __init__(self) -> None:
        self._count = 0
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._count -= 1

    def __bool__(self) -> bool:
        return self._count > 0


def timeout_of(timeout: Timeout) -> Any:
    """As the native part takes it: None is what the options say, and for ever is long."""
    if timeout is DEFAULT:
        return None
    return _FOR_EVER if timeout is None else timeout


class LockBase:
    """A lock of one name or several, of one manager. Making it asks nobody."""

    def __init__(
        self,
        manager: ManagerBase,
        make: Callable[[_native.Manager, LockOptions], _native.Lock],
        options: LockOptions,
        timeout: Timeout,
    ) -> None:
        self._manager = manager
        self._make = make
        self._options = options
        self._timeout = timeout
        self._of: _native.Manager | None = None
        self._lock: _native.Lock | None = None
        self._handle()
        if manager._folders:
            manager._kept.add(self)

    def _handle(self) -> _native.Lock:
        manager = self._manager._handle()
        lock = self._lock
        if lock is None or self._of is not manager:
            lock = self._make(manager, self._options)
            self._lock, self._of = lock, manager
        return lock

    def _forget(self) -> None:
        self._lock = self._of = None

    def _acquire(self, timeout: Timeout) -> _native.Operation:
        wanted = self._timeout if timeout is DEFAULT else timeout
        return self._handle().acquire(timeout_of(wanted))

    @property
    def names(self) -> list[str]:
        """The names that it locks."""
        return self._handle().names

    def with_options(self, **options: Unpack[LockOptions]) -> Self:
        """The same lock with these options beside those that it has."""
        merged: LockOptions = {**self._options, **options}
        return type(self)(self._manager, self._make, merged, self._timeout)


class LeaseBase:
    """What is held. It is lost if the nodes cannot be told in time; asking it is cheap."""

    _kind: ClassVar[str] = "lease"

    def __init__(self, native: _native.Lease, manager: ManagerBase) -> None:
        self._native = native
        # As long as there is a lease there is its manager, which gives it back at the end of the program.
        self._manager = manager
        self._busy = manager._busy

    @property
    def name(self) -> str:
        """The lock's name; several names with a comma between them."""
        return ", ".join(self._native.names)

    @property
    def names(self) -> list[str]:
        """The names that are locked."""
        return self._native.names

    @property
    def owner(self) -> str:
        """The value that signs the lock's keys, as text: unique to this lease."""
        return self._native.owner

    @property
    def kind(self) -> str:
        """``fenced``, ``plain``, ``read``, ``write``, ``permit`` or ``once``."""
        return self._native.kind

    @property
    def fencing_token(self) -> int:
        """Its place among all holders of the lock: larger than that of every holder before.

        Give it to what the lock protects (see `leasehold.fence`). Raises `ConfigError` for plain locks and readers,
        which have none.
        """
        token = self._native.token
        if token is None:
            raise ConfigError(f"a lease of this kind ({self.kind}) has no fencing token")
        return token

    @property
    def valid(self) -> bool:
        """Whether it may be relied upon now. Reads the clock.

        A program may be stopped between this answer and what it does upon it, for any length of time.
        """
        return self._native.is_valid()

    @property
    def lost(self) -> LeaseLost | None:
        """The loss, if it was lost. In a fork, leases of the parent are."""
        return self._native.lost()

    @property
    def remaining(self) -> float:
        """For how many seconds it may still be relied upon; 0 when it may not."""
        return self._native.remaining()

    @property
    def state(self) -> str:
        """``held``, ``in_danger``, ``lost``, ``released``, or ``foreign`` in a fork of the process that has it."""
        return self._native.state()[0]

    @property
    def state_text(self) -> str:
        """The state as a sentence."""
        return self._native.state()[1]

    def raise_if_lost(self) -> None:
        """Raises `LeaseLost` if it was lost."""
        lost = self.lost
        if lost is not None:
            raise lost

    def heartbeat(self) -> None:
        """Says that the work goes on. Needed only with ``progress_within``."""
        self._native.heartbeat()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.name!r}: {self.state_text}>"


NOTHING = ReleaseOutcome("nothing", "there was nothing to give back")


def loss_at_end(lost: LeaseLost | None, outcome: ReleaseOutcome | None, name: str) -> LeaseLost | None:
    """What a block that ended well must be told."""
    if lost is not None:
        return lost
    causes = {"taken_by_another": "taken_by_another", "already_expired": "gone"}
    if outcome is not None and outcome.kind in causes:
        text = f'lost the lock "{name}": {outcome.text}'
        return LeaseLost(text, name=name, cause=causes[outcome.kind], holder=outcome.holder)
    return None


class Entered:
    """The blocks that were entered and are not left, one for each thread or task.

    The end of a block does not say which one it is. Of two of a thread, as two generators may have them, the wrong lease
    would be given back, while its block works on.
    """

    def __init__(self) -> None:
        self._leases: dict[object, Any] = {}

    def check(self, whose: object) -> None:
        if whose in self._leases:
            raise ConfigError(
                "this lock is held by a block of the same thread or task: "
                "make a lock for each block, or enter what its acquire() returns"
            )

    def enter(self, whose: object, lease: Any) -> None:
        self._leases[whose] = lease

    def leave(self, whose: object) -> Any:
        if whose not in self._leases and len(self._leases) == 1:
            # Left by another thread or task than it was entered by, as a generator may be.
            return self._leases.popitem()[1]
        if whose not in self._leases:
            raise ConfigError("no block of this thread or task holds this lock: leave it where it was entered")
        return self._leases.pop(whose)
