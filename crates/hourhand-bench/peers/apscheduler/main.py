"""APScheduler 3 with its SQLAlchemy job store on PostgreSQL.

Its documentation says that processes cannot share a store: occurrences may run twice, or not at all. It knows no other way to have
four replicas than to have one, so they share a store all the same, and the table shows what becomes of it.

A job keeps its name in the store. Where it is there already it is left alone, since to add it anew forgets what was missed. An
occurrence may be an hour late; by default a second.
"""

import time

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import ConflictingIdError
from apscheduler.jobstores.sqlalchemy import SQLAlchemyJobStore
from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.cron import CronTrigger

from replica import Book, replica

told = {}


def due(name):
    with told["book"].body(name):
        time.sleep(told["body"])


def trigger(orders):
    second, cron = orders.seconds_and_cron()
    minute, hour, day, month, _ = cron.split(" ")
    return CronTrigger(second=second, minute=minute, hour=hour, day=day, month=month, timezone="UTC")


def main(orders):
    told.update(book=Book(orders.book), body=orders.body)
    url = orders.url.replace("postgres://", "postgresql+psycopg2://", 1)
    scheduler = BackgroundScheduler(
        jobstores={"default": SQLAlchemyJobStore(url=url)},
        executors={"default": ThreadPoolExecutor(20)},
        job_defaults={"misfire_grace_time": 3600},
        timezone="UTC",
    )
    # Nothing is missed while what is missing is added.
    scheduler.start(paused=True)
    there = {job.id for job in scheduler.get_jobs()}
    for name in orders.names():
        if name not in there:
            try:
                # By its name, as it is to be found in any process.
                scheduler.add_job("__main__:due", trigger(orders), args=[name], id=name)
            except ConflictingIdError:
                pass  # Another replica was quicker.
    scheduler.resume()
    told["book"].ready()
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    replica(main)
