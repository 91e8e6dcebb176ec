"""Leasehold's own package: what `lock` asks by its threads, and a crowd by its tasks of asyncio."""

import asyncio
import os
import random

import leasehold
import leasehold.aio
import redis.asyncio
from line import Failed, Gone, Refused, serve

PLAIN = os.environ["KIND"] == "plain"
PAUSE = 0.01
# Longer than anybody waits here: who wakes before its end was told.
LONG_PAUSE = 20.0


class Library:
    def open(self, urls):
        self.urls = urls
        self.manager = leasehold.LockManager(urls, plain=PLAIN)

    def lock(self, key, ttl, tries):
        options = {"tries": tries, "pause": (PAUSE, PAUSE)}
        if tries == 1:
            options = {"timeout": 0}
        return self._acquire(key, ttl, **options)

    def wait(self, key, ttl, patience):
        return self._acquire(key, ttl, timeout=patience / 1000, pause=(LONG_PAUSE, LONG_PAUSE))

    def unlock(self):
        _released(self._let_go().release())

    def extend(self, ttl):
        try:
            self.held.extend(ttl / 1000)
        except leasehold.ExtendError as error:
            raise Gone(str(error)) from error

    def leave(self, how):
        lease = self._let_go()
        return lease.hand_over() if how == "handed-over" else lease.detach()

    def adopt(self, text):
        return self._keep(self.manager.adopt(text))

    def finish(self, key, owner):
        _released(self.manager.detached(key, owner).release())

    async def crowd(self, name, time, port):
        async with leasehold.aio.LockManager(self.urls, plain=PLAIN) as manager:
            there = redis.asyncio.Redis(host="127.0.0.1", port=port, decode_responses=True)
            try:
                return await Crowd(manager, there, name).contend(time / 1000)
            finally:
                await there.aclose()

    def _acquire(self, key, ttl, **options):
        # As other libraries do: not extended by itself.
        options = {"ttl": ttl / 1000, "renew_every": None, **options}
        names = key.split(",")
        one, many = self.manager.lock, self.manager.lock_all
        lock = one(key, **options) if len(names) == 1 else many(names, **options)
        try:
            return self._keep(lock.acquire())
        except leasehold.Held as held:
            raise Refused(str(held)) from held

    def _keep(self, lease):
        self.held = lease
        return lease.owner, lease.remaining * 1000, None if PLAIN else lease.fencing_token

    def _let_go(self):
        lease, self.held = self.held, None
        return lease


def _released(outcome):
    if outcome.kind == "unknown":
        raise Failed(str(outcome))
    if not outcome.is_released:
        raise Gone(str(outcome))


# As src/crowd.rs has them.
LOCKS = 32
MEMBERS = 24
REST_MS = 2
THINKING_MS = 1
A_WHILE_MS = 300
TWO_HELD = "TWO HELD AT ONCE"


class Crowd:
    """Many who contend for many locks by one manager: what src/crowd.rs does."""

    def __init__(self, manager, there, name):
        self.manager, self.there, self.name = manager, there, name

    async def contend(self, time):
        end = asyncio.get_running_loop().time() + time
        return sum(await asyncio.gather(*(self._member(number, end) for number in range(MEMBERS))))

    async def _member(self, lock, end):
        turns = 0
        while asyncio.get_running_loop().time() < end:
            lock = (lock + 1) % LOCKS
            turns += await self._turn(f"{self.name}/{lock}")
            await asyncio.sleep(random.uniform(0, REST_MS / 1000))
        return turns

    async def _turn(self, resource):
        try:
            lease = await self.manager.lock(resource, timeout=A_WHILE_MS / 1000).acquire()
        except leasehold.Held:
            return False
        try:
            await self._count(resource, lease)
        finally:
            outcome = await lease.release()
        if not outcome.is_released:
            raise Failed(f"{resource} cannot be unlocked: {outcome}")
        return True

    async def _count(self, resource, lease):
        """Counts, as one who is alone may."""
        there, inside, turns = self.there, f"{resource}/inside", f"{resource}/turns"
        found = await there.incr(inside)
        before = int(await there.get(turns) or 0)
        if not PLAIN:
            token, last = lease.fencing_token, int(await there.get(f"{resource}/token") or 0)
            if token <= last:
                raise Failed(f"{resource}: token {token} comes after {last}")
            await there.set(f"{resource}/token", token)
        await asyncio.sleep(THINKING_MS / 1000)
        await there.set(turns, before + 1)
        await there.decr(inside)
        # Who stood still for so long may not be alone any more, and should not have gone on.
        if not lease.valid:
            raise Failed("proves nothing: the machine stood still")
        if found != 1:
            raise Failed(f"{TWO_HELD}: somebody was inside who had {resource}")


serve(Library())
