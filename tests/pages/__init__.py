"""What tests/documentation asks of README.md and docs/, beside options and metrics: commands, messages, sentences."""
