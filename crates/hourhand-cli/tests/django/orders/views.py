from django.http import JsonResponse
from django.views.decorators.http import require_POST

from orders import by_hand
from orders.models import Order


def index(request):
    return JsonResponse({"orders": Order.objects.count()})


@require_POST
def sync(request):
    if by_hand.sync_now():
        return JsonResponse({"sync": "done"})
    return JsonResponse({"sync": "already running"}, status=409)
