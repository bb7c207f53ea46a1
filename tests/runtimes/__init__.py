"""Container runtimes drive kuryr-cni: tests/runtimes/run."""
