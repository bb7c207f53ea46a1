"""Pods on ports of a real Neutron with ML2/OVN."""
