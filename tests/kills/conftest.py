"""The table of fault points that a run of these tests prints at its end."""

import pytest


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = sorted(
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "fault point" and getattr(report, "when", "") == "call"
    )
    if lines:
        terminalreporter.write_sep("=", "SIGKILL at each fault point, and what the next run did")
        for line in lines:
            terminalreporter.write_line(line)
