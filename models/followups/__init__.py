"""Follow-ups: promised messages, kept once and with consent, or held back with a reason."""
