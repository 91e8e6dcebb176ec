import redis_lock
from line import Gone, Refused, client, serve


class Library:
    def open(self, urls):
        (url,) = urls
        self.client = client(url)

    def lock(self, key, ttl, tries):
        # It counts whole seconds, and waits for a signal of its own kind instead of trying.
        held = redis_lock.Lock(self.client, key, expire=ttl // 1000)
        got = held.acquire(blocking=False) if tries == 1 else held.acquire(timeout=1)
        if not got:
            raise Refused("acquire is False")
        self.held = held
        return held.id, None

    def unlock(self):
        self._or_gone(self.held.release)

    def extend(self, ttl):
        self._or_gone(lambda: self.held.extend(ttl // 1000))

    def _or_gone(self, call):
        try:
            call()
        except redis_lock.NotAcquired as error:
            raise Gone(str(error))


serve(Library())
