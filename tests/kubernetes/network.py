"""The addresses of a cluster, and what they ask of its programs."""
from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterNetwork:
    node: str  # the address of the node that the API server is on
    api: str  # the API server's URL
    services: tuple  # the networks of Services, one for each family
    pods: tuple = ()  # the networks of pods, of which each node gets a block; none where no controller gives them
    name_server: str = ""  # the address of the cluster's DNS
    has_proxy: bool = False  # kube-proxy leads the API server's Service to it

    @property
    def gates(self):
        """The feature gates of two families."""
        return {"IPv6DualStack": True} if len(self.services) > 1 else {}

    @property
    def api_options(self):
        """Options of kube-apiserver."""
        port = self.api.rpartition(":")[2] if self.has_proxy else "443"
        listening = ["--bind-address=::" if ":" in self.node else "--bind-address=0.0.0.0", f"--secure-port={port}",
                     f"--advertise-address={self.node}", f"--service-cluster-ip-range={','.join(self.services)}",
                     _gate_option({"BoundServiceAccountTokenVolume": True, **self.gates})]
        return listening if self.has_proxy else [*listening, "--endpoint-reconciler-type=none"]

    @property
    def controller_options(self):
        """Options of kube-controller-manager."""
        if not self.pods:
            return []
        masks = ["--node-cidr-mask-size-ipv4=24", "--node-cidr-mask-size-ipv6=64"]
        if not self.gates:
            masks = ["--node-cidr-mask-size=64" if ":" in self.node else "--node-cidr-mask-size=24"]
        return ["--allocate-node-cidrs", f"--cluster-cidr={','.join(self.pods)}", *masks, _gate_option(self.gates),
                f"--service-cluster-ip-range={','.join(self.services)}"]

    @property
    def kubelet_fields(self):
        """Fields of the kubelet's configuration."""
        return {"clusterDNS": [self.name_server], "clusterDomain": "cluster.local", "featureGates": self.gates,
                "address": "::" if ":" in self.node else "0.0.0.0"}

    @property
    def proxy_fields(self):
        """Fields of kube-proxy's configuration."""
        return {"clusterCIDR": ",".join(self.pods), "featureGates": self.gates}


def _gate_option(gates):
    return "--feature-gates=" + ",".join(f"{name}={str(value).lower()}" for name, value in gates.items())


def in_url(address):
    """As URLs and OVSDB's remotes have it: in brackets if it is of IPv6."""
    return f"[{address}]" if ":" in address else address
