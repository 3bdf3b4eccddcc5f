"""Delayed automations: a rule that waits on one episode of one conversation, and what it did when it ran."""
