"""A program that locks by SETNX and GETSET, as it was published, for Python 3 and without a client library.

    getset.py PORT KEY LOCK_TIMEOUT hold
        acquires, says "acquired", waits for a line, releases, says "released"
    getset.py PORT KEY LOCK_TIMEOUT count SECTIONS FOLDER
        says "ready", waits for a line; in each section reads FOLDER/counter and writes it back one larger

What stands between the two rulers is the published program. It ends with a TypeError if the lock is released between
its SETNX and its GET, since there is no number to be had then; whoever runs it starts it again, and so does `acquire`.
"""

import socket
import sys
import time


class Client:
    """As much of a client as is needed."""

    def __init__(self, port):
        self.connection = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.answers = self.connection.makefile("rb")

    def ask(self, *words):
        words = [str(word).encode() for word in words]
        parts = b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)
        self.connection.sendall(b"*%d\r\n%s" % (len(words), parts))
        line = self.answers.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.answers.read(int(rest) + 2)[:-2]
        raise RuntimeError(line)

    def setnx(self, key, value):
        return self.ask("SETNX", key, value)

    def get(self, key):
        return self.ask("GET", key)

    def getset(self, key, value):
        return self.ask("GETSET", key, value)

    def delete(self, key):
        return self.ask("DEL", key)


redis_client = Client(int(sys.argv[1]))
lock_key = sys.argv[2]
LOCK_TIMEOUT = int(sys.argv[3])


def do_job_once(do_job):
    # --------------------------------------------------------------------------------------------------------------
    lock = 0
    lock_timeout = 0

    while lock != 1:
        now = int(time.time())
        lock_timeout = now + LOCK_TIMEOUT + 1
        lock = redis_client.setnx(lock_key, lock_timeout)
        if lock == 1 or (now > int(redis_client.get(lock_key))) and now > int(redis_client.getset(lock_key, lock_timeout)):
            break
        else:
            time.sleep(0.001)

    do_job()

    now = int(time.time())
    if now < lock_timeout:
        redis_client.delete(lock_key)
    # --------------------------------------------------------------------------------------------------------------


def acquire_and(do_job):
    while True:
        try:
            return do_job_once(do_job)
        except TypeError:
            pass


def say(line):
    print(line, flush=True)


def hold():
    say("acquired")
    sys.stdin.readline()


def count(folder):
    def section():
        with open(folder + "/counter") as counter:
            number = int(counter.read())
        with open(folder + "/log", "a") as log:
            log.write("p")
        with open(folder + "/counter", "w") as counter:
            counter.write(str(number + 1))

    return section


if sys.argv[4] == "hold":
    acquire_and(hold)
    say("released")
else:
    sections, folder = int(sys.argv[5]), sys.argv[6]
    say("ready")
    sys.stdin.readline()
    for _ in range(sections):
        acquire_and(count(folder))
    say("done")
