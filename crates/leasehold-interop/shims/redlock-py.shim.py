from line import Refused, client, serve
from redlock import Redlock


class Library:
    def open(self, urls):
        self.redlock = Redlock([client(url) for url in urls])
        self.redlock.retry_delay = 0.01

    def lock(self, key, ttl, tries):
        self.redlock.retry_count = tries
        held = self.redlock.lock(key, ttl)
        if not held:
            raise Refused("lock is False")
        self.held = held
        return held.key.decode(), held.validity

    def unlock(self):
        self.redlock.unlock(self.held)


serve(Library())
