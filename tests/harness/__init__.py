"""Parts that the Python suites share; README.md has a list."""
