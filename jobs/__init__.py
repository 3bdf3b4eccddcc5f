"""The engine: sweeps on a schedule, and what carries events outside."""
