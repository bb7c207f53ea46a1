"""docs/performance.md as one run: tests/bench/report measures it, tests/bench/page draws it."""
