"""A web service: an order is charged once at a time, whichever of many processes is asked.

    pip install fastapi uvicorn
    uvicorn fastapi_app:app --workers 4

Without LEASEHOLD_NODES the workers lock in a folder of this machine.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException

from leasehold import Abstained, Held, LeaseLost, Unreachable
from leasehold.aio import LockManager


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    here = LockManager.from_env if "LEASEHOLD_NODES" in os.environ else lambda: LockManager.file("/tmp/leasehold-web")
    async with here() as manager:
        app.state.locks = manager
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/orders/{number}/charge")
async def charge(number: int) -> dict[str, int]:
    try:
        async with app.state.locks.lock(f"orders/{number}", timeout=2) as lease:
            # Cancelled if the lease is lost. Who carries it out is given the token, and refuses smaller ones.
            await asyncio.sleep(0.1)
            return {"order": number, "token": lease.fencing_token}
    except Held as held:
        raise HTTPException(409, str(held), {"Retry-After": "1"}) from held
    except (Unreachable, Abstained) as away:
        raise HTTPException(503, str(away), {"Retry-After": "5"}) from away
    except LeaseLost as lost:
        raise HTTPException(500, str(lost)) from lost
