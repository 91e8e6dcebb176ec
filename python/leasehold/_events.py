"""Events of managers on their way to observers and to the log, by a thread that may wait for the GIL."""

from __future__ import annotations

import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _native
from ._facts import Event

if TYPE_CHECKING:
    from collections.abc import Callable

logger = logging.getLogger("leasehold")


class Teller:
    """A queue of events and the thread that empties it. It ends with `close`."""

    def __init__(self, observer: Callable[[Event], object] | None, logs: bool) -> None:
        # Without an observer, only what somebody should hear of is worth a wake, unless all is logged.
        everything = observer is not None or (logs and logger.isEnabledFor(logging.DEBUG))
        self.queue = _native.EventQueue(everything)
        self._handlers: list[Callable[[Event], object]] = []
        if observer is not None:
            self._handlers.append(observer)
        if logs:
            self._handlers.append(Log())
        self._thread = threading.Thread(target=self._run, name="leasehold-events", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while True:
            taken = self.queue.take()
            if taken is None:
                return
            events, dropped = taken
            for kind, facts in events:
                self._tell(Event(kind, facts))
            if dropped:
                logger.warning("%d events were dropped, since observers are slow", dropped)

    def _tell(self, event: Event) -> None:
        for handler in self._handlers:
            try:
                handler(event)
            except Exception:
                logger.exception("an observer failed with the event %s", event.kind)

    def flush(self) -> None:
        """Waits until what was there is told, for half a second at most."""
        until = time.monotonic() + 0.5
        while self.queue.waiting() and time.monotonic() < until:
            time.sleep(0.002)

    def close(self) -> None:
        """Tells what is left, and ends; waits for half a second at most."""
        self.queue.close()
        if self._thread is not threading.current_thread():
            self._thread.join(0.5)


class Log:
    """Writes what happens to the logger ``leasehold``; what repeats itself, once."""

    def __init__(self) -> None:
        self._said: dict[str, str] = {}

    def __call__(self, event: Event) -> None:
        said = _SAYINGS.get(event.kind)
        if said is None:
            return
        level, sentence = said
        if event.kind in ("up", "down", "abstained"):
            node, state = event.facts["node"], f"{event.kind} {event.facts.get('cause', '')}"
            if self._said.get(node) == state:
                return
            self._said[node] = state
        logger.log(level, sentence(event), extra={"leasehold": event})


def _quoted(event: Event) -> str:
    return json.dumps(event.name, ensure_ascii=False)


def _seconds(facts: dict[str, Any], name: str) -> str:
    return f"{facts[name]:.3g} s"


def _in_danger(event: Event) -> str:
    nodes = ", ".join(event.facts["nodes"])
    left = _seconds(event.facts, "remaining")
    return f"the lock {_quoted(event)} is in danger: {left} are left" + (f" ({nodes})" if nodes else "")


_SAYINGS: dict[str, tuple[int, Callable[[Event], str]]] = {
    "lost": (
        logging.ERROR,
        lambda event: f"lost the lock {_quoted(event)} after {_seconds(event.facts, 'held')}: {event.facts['text']}",
    ),
    "in_danger": (logging.WARNING, _in_danger),
    "down": (logging.WARNING, lambda event: f"{event.facts['node']}: {event.facts['text']}"),
    "replaced": (
        logging.INFO,
        lambda event: f"{event.facts['former']} was replaced by {event.facts['node']}",
    ),
    "up": (logging.INFO, lambda event: f"{event.facts['node']}: connected"),
    "abstained": (logging.WARNING, lambda event: f"{event.facts['node']}: {event.facts['text']}"),
    "clock_stepped": (
        logging.WARNING,
        lambda event: (
            f"{event.facts['node']}: its clock was set {event.facts['direction']} by"
            f" {_seconds(event.facts, 'by')} or more"
        ),
    ),
    "acquired": (
        logging.DEBUG,
        lambda event: f"acquired {_quoted(event)} in {_seconds(event.facts, 'waited')}",
    ),
    "not_acquired": (
        logging.DEBUG,
        lambda event: (
            f"did not acquire {_quoted(event)} in {_seconds(event.facts, 'waited')}: {event.facts['obstacle']}"
        ),
    ),
    "extended": (logging.DEBUG, lambda event: f"extended {_quoted(event)}"),
    "released": (
        logging.DEBUG,
        lambda event: f"released {_quoted(event)} after {_seconds(event.facts, 'held')}: {event.facts['outcome']}",
    ),
    "handed_over": (logging.DEBUG, lambda event: f"handed over {_quoted(event)}"),
}
