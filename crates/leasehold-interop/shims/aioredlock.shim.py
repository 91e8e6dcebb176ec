from aioredlock import Aioredlock
from aioredlock.errors import LockAcquiringError
from line import Gone, Refused, serve


class Library:
    async def open(self, urls):
        self.redlock = Aioredlock(urls, retry_delay_min=0.005, retry_delay_max=0.015)

    async def lock(self, key, ttl, tries):
        self.redlock.retry_count = tries
        try:
            self.held = await self.redlock.lock(key, lock_timeout=ttl / 1000)
        except LockAcquiringError as error:
            raise Refused(str(error))
        return self.held.id, None

    async def unlock(self):
        await self._or_gone(self.redlock.unlock(self.held))

    async def extend(self, ttl):
        await self._or_gone(self.redlock.extend(self.held, lock_timeout=ttl / 1000))

    async def _or_gone(self, call):
        try:
            await call
        except LockAcquiringError as error:
            raise Gone(str(error))


serve(Library())
