from pottery import ExtendUnlockedLock, Redlock, ReleaseUnlockedLock
from line import Gone, Refused, client, serve


class Library:
    def open(self, urls):
        self.masters = {client(url) for url in urls}

    def lock(self, key, ttl, tries):
        held = Redlock(key=key, masters=self.masters, auto_release_time=ttl / 1000)
        got = held.acquire(blocking=False) if tries == 1 else held.acquire(timeout=tries * 0.01)
        if not got:
            raise Refused("acquire is False")
        self.held = held
        return None, held.locked() * 1000

    def unlock(self):
        try:
            self.held.release()
        except ReleaseUnlockedLock as error:
            raise Gone(str(error))

    def extend(self, ttl):
        self.held.auto_release_time = ttl / 1000
        try:
            self.held.extend()
        except ExtendUnlockedLock as error:
            raise Gone(str(error))


serve(Library())
