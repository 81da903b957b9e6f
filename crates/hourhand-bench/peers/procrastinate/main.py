"""Starts the app, which procrastinate wants in a module of its own."""

from app import main
from replica import replica

replica(main)
