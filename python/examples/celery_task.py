"""A task of Celery that runs once at a time for each customer, on however many workers.

    pip install celery redis
    LEASEHOLD_NODES=redis://127.0.0.1:6379 celery -A celery_task worker --pool prefork --concurrency 4

The manager is made before Celery forks its workers. Each worker makes it again at its first lock, with sockets of its
own.
"""

from __future__ import annotations

import time

from celery import Celery, Task

from leasehold import Abstained, Held, LockManager, Unreachable

app = Celery("celery_task", broker="redis://127.0.0.1:6379/0")
locks = LockManager.from_env()


@app.task(bind=True, max_retries=20)
def synchronize(self: Task, customer: int) -> int:
    """Returns the fencing token, for whoever keeps the result."""
    try:
        with locks.lock(f"customers/{customer}", timeout=0) as lease:
            for _ in range(10):
                lease.raise_if_lost()
                time.sleep(0.05)
            return lease.fencing_token
    except Held as held:
        # As long as the lease of the other may last, at most.
        raise self.retry(exc=held, countdown=min(held.remaining or 1.0, 5.0)) from held
    except (Unreachable, Abstained) as away:
        raise self.retry(exc=away, countdown=5.0) from away
