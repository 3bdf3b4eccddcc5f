"""`python -m desk_ui.cli`: the same as `desk`, for processes that start others."""

from desk_ui.cli import main

main()
