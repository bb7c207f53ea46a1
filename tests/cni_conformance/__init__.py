"""Conformance cases for CNI plugins; tests/conformance runs them, README.md tells how."""
