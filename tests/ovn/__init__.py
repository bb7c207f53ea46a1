"""Pods on real OVN."""
