"""What etc/kubernetes is for a cluster: its parts, overlays and chart."""
