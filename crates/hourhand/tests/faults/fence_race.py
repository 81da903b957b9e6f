"""The other language of the tests in fence_race.rs: psycopg against hourhand's SQL functions.

    fence_race.py race URL ROUNDS   two fenced transactions race with a new run; prints what happened
    fence_race.py run URL           runs the job under its key; a line says whether to complete or to die
"""

import os
import sys
import threading
import time

import psycopg

JOB = "order-sync"


def begin(holder):
    return holder.execute("select epoch from hourhand.begin(%s)", [JOB]).fetchone()[0]


def take_key(connection):
    taken = connection.execute("select pg_try_advisory_lock(hourhand.key(%s))", [JOB]).fetchone()[0]
    assert taken, "somebody holds the key"


def write(connection, epoch, works_ms=0):
    """Writes under an epoch, works for some milliseconds, fences, and writes which epoch is current once the fence has let
    it pass. True: it committed."""
    try:
        with connection.transaction():
            connection.execute("insert into effect values (%s)", [epoch])
            time.sleep(works_ms / 1000)
            connection.execute("select hourhand.fence(%s, %s)", [JOB, epoch])
            connection.execute(
                "update effect set current = (select epoch from hourhand.job where name = %s) where claimed = %s",
                [JOB, epoch],
            )
        return True
    except psycopg.Error as error:
        assert error.sqlstate == "HH001", error
        return False


def race(url, rounds):
    holder, older, newer = (psycopg.connect(url, autocommit=True) for _ in range(3))
    take_key(holder)
    epoch = begin(holder)
    before = refused = 0
    for number in range(rounds):
        results = {}

        def old(epoch=epoch, works_ms=number % 20 * 0.2):
            results["old"] = write(older, epoch, works_ms)

        thread = threading.Thread(target=old)
        thread.start()
        time.sleep(0.001)
        epoch = begin(holder)
        assert write(newer, epoch), f"the current run was refused in round {number}"
        thread.join()
        if results["old"]:
            before += 1
        else:
            refused += 1
    assert before and refused, f"that was no race: {before} before, {refused} refused"
    print(f"the older one committed before the start {before} times, refused {refused} times")


def run(url):
    holder = psycopg.connect(url, autocommit=True)
    take_key(holder)
    epoch = begin(holder)
    if sys.stdin.readline().strip() != "complete":
        os._exit(1)
    with psycopg.connect(url) as work:
        work.execute("create table if not exists page (epoch bigint)")
        work.execute("insert into page values (%s)", [epoch])
        work.execute("select hourhand.complete(%s, %s)", [JOB, epoch])


if __name__ == "__main__":
    {"race": lambda: race(sys.argv[2], int(sys.argv[3])), "run": lambda: run(sys.argv[2])}[sys.argv[1]]()
