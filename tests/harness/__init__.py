"""What the suites of Python share; README.md tells."""
