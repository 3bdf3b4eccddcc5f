"""The command line: `desk`, a thin shell over the same functions as pages, API and jobs."""
