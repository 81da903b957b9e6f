import json
from urllib.parse import urlencode
from urllib.request import urlopen

from django.conf import settings


def changed(since, until):
    """What the outside order service says has changed in this span. It may take minutes."""
    query = urlencode({"since": since.isoformat(), "until": until.isoformat()})
    with urlopen(f"{settings.ORDERS_URL}?{query}", timeout=60) as answer:
        return json.load(answer)
