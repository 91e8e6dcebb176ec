from line import Gone, Refused, client, serve
from redis.exceptions import LockError


class Library:
    def open(self, urls):
        (url,) = urls
        self.client = client(url)

    def lock(self, key, ttl, tries):
        held = self.client.lock(key, timeout=ttl / 1000, sleep=0.01)
        got = held.acquire(blocking=tries > 1, blocking_timeout=tries * 0.01)
        if not got:
            raise Refused("acquire is False")
        self.held = held
        return held.local.token.decode(), None

    def unlock(self):
        self._or_gone(self.held.release)

    def extend(self, ttl):
        self._or_gone(lambda: self.held.extend(ttl / 1000, replace_ttl=True))

    def _or_gone(self, call):
        try:
            call()
        except LockError as error:
            raise Gone(str(error))


serve(Library())
