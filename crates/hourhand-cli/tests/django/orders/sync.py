import os

from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from orders import source
from orders.models import Order, Sync


class Superseded(Exception):
    """A later run has begun: nothing of this one was kept."""


def run(epoch, since, until, seal, scheduled_for=None):
    """Covers one window. `seal` is the last statement of its transaction, and raises when a later run has begun."""
    facts = {"pid": os.getpid(), "scheduled_for": scheduled_for, "since": since, "until": until}
    Sync.objects.create(epoch=epoch, started_at=timezone.now(), **facts)
    orders = source.changed(since, until)  # no transaction is open meanwhile
    try:
        with transaction.atomic():
            for order in orders:
                values = {"total": order["total"], "epoch": epoch}
                Order.objects.update_or_create(number=order["number"], defaults=values)
            Sync.objects.filter(epoch=epoch).update(ended_at=timezone.now())
            with connection.cursor() as cursor:
                cursor.execute(seal, ["order-sync", epoch])
    except DatabaseError as error:
        if getattr(error.__cause__, "sqlstate", None) != "HH001":
            raise
        Sync.objects.filter(epoch=epoch).update(note=f"HH001: {error}")
        raise Superseded(str(error)) from error
