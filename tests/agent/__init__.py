"""kuryr-daemon among failures: tests/agent/chaos and tests/agent/systemd."""
