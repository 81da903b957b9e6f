import os

from django.core.management.base import BaseCommand, CommandError
from django.utils.dateparse import parse_datetime

from orders import sync


class Command(BaseCommand):
    help = "Pulls the orders that have changed; started by hourhand, which says what to cover."

    def handle(self, *args, **options):
        since = parse_datetime(os.environ["HOURHAND_WINDOW_FROM"])
        until = parse_datetime(os.environ["HOURHAND_WINDOW_UNTIL"])
        scheduled_for = os.environ["HOURHAND_SCHEDULED_FOR"] or None  # none when somebody asked for the run
        epoch = int(os.environ["HOURHAND_EPOCH"])
        try:
            sync.run(epoch, since, until, "select hourhand.fence(%s, %s)", scheduled_for)
        except sync.Superseded as error:
            raise CommandError(str(error)) from error
