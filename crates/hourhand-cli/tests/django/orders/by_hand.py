import psycopg
from django.conf import settings

from orders import sync


def sync_now():
    """One run in this process, under the sidecar's lock; False when somebody else runs it."""
    with psycopg.connect(settings.DATABASE_URL, autocommit=True) as session:
        (locked,) = session.execute("select pg_try_advisory_lock(hourhand.key('order-sync'))").fetchone()
        if locked:
            run = session.execute("select * from hourhand.begin('order-sync')").fetchone()
            sync.run(*run, seal="select hourhand.complete(%s, %s)")
    return locked
