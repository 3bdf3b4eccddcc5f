"""The domain: records, state machines and policies. Knows no web request and no job queue."""
