"""Checks of README.md and docs/ by tests/documentation, beside options and metrics: commands, messages, sentences."""
