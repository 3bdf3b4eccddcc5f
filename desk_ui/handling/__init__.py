"""Who is on what needs a person: the marks as pages show them, and the acts on them for every area."""
