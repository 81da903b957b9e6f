from django.db import models


class Order(models.Model):
    number = models.TextField(unique=True)
    total = models.IntegerField()
    epoch = models.BigIntegerField()  # the run that wrote it


class Sync(models.Model):
    """One run's own notes. Only `ended_at` is written under the fence."""

    epoch = models.BigIntegerField(primary_key=True)
    pid = models.IntegerField()
    scheduled_for = models.DateTimeField(null=True)
    since = models.DateTimeField()
    until = models.DateTimeField()
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    note = models.TextField(default="")
