"""A script for cron, on each of many machines: one of them does the work, once a day.

Addresses of servers come from LEASEHOLD_NODES or from the configuration file of the `leasehold` command. To try it
without any:

    python cron_script.py --demo
"""

from __future__ import annotations

import sys
import time

from leasehold import AlreadyDone, Held, LeaseholdError, LockManager

DAY = 24 * 60 * 60


def report() -> None:
    """What is to be done once a day."""
    time.sleep(0.2)


def main(arguments: list[str]) -> int:
    manager = LockManager.file("/tmp/leasehold-cron-demo") if "--demo" in arguments else LockManager.from_env()
    try:
        # Others wait: if this machine dies in the middle, one of them does the work. Once it is done, nobody does until
        # tomorrow (UTC). Start it soon after midnight UTC: who waits beyond the next one does tomorrow's.
        with manager, manager.lock("nightly-report", timeout=3600, once_per=DAY):
            report()
    except (AlreadyDone, Held):
        return 0
    except LeaseholdError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
