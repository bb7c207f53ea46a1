"""Policies on every backend, by packets: tests/policies/run."""
