"""Registered by create_app."""

from flask import Flask


def register(app: Flask) -> None:
    """Add this part to `app`."""
