"""procrastinate with periodic tasks; its workers hear of jobs by LISTEN, and look every 5 s besides.

Jobs of lost workers are found by a periodic task of one's own, which its documentation gives: there every ten minutes, here every
minute. It gives the concurrency of 30 too. Behind a pooler it has its own pool left out, as its documentation says.
"""

import asyncio

import procrastinate
import psycopg_pool

from replica import Book


def app_for(orders):
    pool = {"pool_factory": psycopg_pool.AsyncNullConnectionPool} if "pooler" in orders.more else {}
    return procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=orders.url, **pool))


def register(app, orders, book):
    @app.task(name="due")
    async def due(timestamp, name):
        with book.body(name, timestamp):
            await asyncio.sleep(orders.body)

    @app.periodic(cron="* * * * *")
    @app.task(name="retry_stalled_jobs", queueing_lock="retry_stalled_jobs", pass_context=True)
    async def retry_stalled_jobs(context, timestamp):
        for job in await app.job_manager.get_stalled_jobs():
            await app.job_manager.retry_job(job)

    second, cron = orders.seconds_and_cron()
    # Its seconds are the sixth field.
    expression = cron if second == "0" else f"{cron} {second}"
    for name in orders.names():
        app.periodic(cron=expression, periodic_id=name, task_kwargs={"name": name})(due)


async def run(orders):
    book = Book(orders.book)
    app = app_for(orders)
    register(app, orders, book)
    async with app.open_async():
        if not await app.check_connection_async():
            await app.schema_manager.apply_schema_async()
        book.ready()
        await app.run_worker_async(concurrency=30)


def main(orders):
    asyncio.run(run(orders))
