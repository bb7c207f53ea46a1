"""etc/kubernetes on a real node: tests/kubernetes/kubelet."""
