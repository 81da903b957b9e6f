"""The contract of a replica, for the peers in Python: what it is told (Orders) and what it writes down (Book).

The same as orders.rs and book.rs beside this file, which say what the words mean.
"""

import os
import sys
import time
from contextlib import contextmanager

CANNOT = 3


class Orders:
    """What the command line says."""

    def __init__(self, words):
        said = {}
        for name, value in zip(words[::2], words[1::2], strict=True):
            said[name.removeprefix("--")] = value
        self.url = said.pop("url")
        self.book = said.pop("book")
        self.jobs = int(said.pop("jobs"))
        self.every = int(said.pop("every"))
        self.body = int(said.pop("body-ms")) / 1000
        self.more = said

    def names(self):
        return [f"job-{number}" for number in range(self.jobs)]

    def seconds_and_cron(self):
        """The field of seconds, and the five fields of a cron expression."""
        if self.every < 60:
            return ("*" if self.every == 1 else f"*/{self.every}"), "* * * * *"
        minutes = self.every // 60
        if minutes == 1:
            return "0", "* * * * *"
        if minutes < 60:
            return "0", f"*/{minutes} * * * *"
        return "0", "0 * * * *" if minutes < 1440 else "0 0 * * *"


class Book:
    """The file for the lines; a line is one write, so that processes do not write into each other's."""

    def __init__(self, path):
        self._file = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o644)

    def ready(self):
        self._write("ready", "-", None)

    @contextmanager
    def body(self, job, scheduled_for=None):
        """A body under way; `scheduled_for` in seconds since 1970."""
        self._write("began", job, scheduled_for)
        try:
            yield
        finally:
            self._write("ended", job, scheduled_for)

    def _write(self, what, job, scheduled_for):
        scheduled = "-" if scheduled_for is None else round(scheduled_for) * 1_000_000_000
        boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        os.write(self._file, f"{boot} {os.getpid()} {what} {job} {time.time_ns()} {scheduled}\n".encode())


def replica(main):
    """Runs a replica. One that fails ends, with its reason as the last words."""
    try:
        main(Orders(sys.argv[1:]))
    except Exception as error:
        reason = next((line for line in str(error).splitlines() if line), type(error).__name__)
        print(f"Error: {reason}", file=sys.stderr, flush=True)
        sys.exit(1)


def refuse(why):
    """Ends the process: the scheduler cannot do what it is told, for this reason."""
    print(f"cannot: {why}", flush=True)
    sys.exit(CANNOT)
