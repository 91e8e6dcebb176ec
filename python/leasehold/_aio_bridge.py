"""Operations of the native part on an event loop.

The loop's own thread does the work. What wakes it is a byte in a socket, however many operations are over by then: so
no thread of the native part waits for the GIL, and no task needs a thread.
"""

from __future__ import annotations

import asyncio
import weakref
from functools import partial
from typing import Any

from . import _native

_bridges: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, _native.Bridge] = weakref.WeakKeyDictionary()


def bridge_of(loop: asyncio.AbstractEventLoop) -> _native.Bridge:
    bridge = _bridges.get(loop)
    if bridge is None or not bridge.is_ours():
        bridge = _bridges[loop] = _native.Bridge()
        loop.add_reader(bridge.fileno(), bridge.drain)
    return bridge


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    # What nobody waits for any more is dropped, and so given back, if it is a lease.
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


async def run(operation: _native.Operation) -> Any:
    loop = asyncio.get_running_loop()
    bridge = bridge_of(loop)
    future: asyncio.Future[Any] = loop.create_future()
    number, result = bridge.start(operation, partial(_settle, future))
    if number is None:
        return result
    try:
        return await future
    except asyncio.CancelledError:
        bridge.cancel(number)
        raise
