"""Hostile annotations against a node with pods and devices."""
