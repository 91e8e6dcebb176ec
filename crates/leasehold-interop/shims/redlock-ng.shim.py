from line import Gone, Refused, serve
from redlock import Redlock


class Library:
    def open(self, urls):
        self.redlock = Redlock(urls, retry_delay_min=0.005, retry_delay_max=0.015)

    def lock(self, key, ttl, tries):
        self.redlock.retry_count = tries - 1
        held = self.redlock.acquire(key, ttl)
        if held is None:
            raise Refused("acquire is None")
        self.held = held
        return held.value, held.validity

    def unlock(self):
        self.redlock.release(self.held)

    def extend(self, ttl):
        if not self.redlock.extend(self.held, ttl):
            raise Gone("extend is False")


serve(Library())
