"""The addresses of a cluster, and what they ask of its programs."""
from dataclasses import dataclass

from kubernetes.release import gate_options


@dataclass(frozen=True)
class ClusterNetwork:
    node: str  # the address of the node that the API server is on
    api: str  # the API server's URL
    services: tuple  # the networks of Services, one for each family
    pods: tuple = ()  # the networks of pods, of which each node gets a block; none where no controller gives them
    name_server: str = ""  # the address of the cluster's DNS
    has_proxy: bool = False  # kube-proxy leads the API server's Service to it

    def api_options(self, release):
        """Options of kube-apiserver."""
        port = self.api.rpartition(":")[2] if self.has_proxy else "443"
        listening = ["--bind-address=::" if ":" in self.node else "--bind-address=0.0.0.0", f"--secure-port={port}",
                     f"--advertise-address={self.node}", f"--service-cluster-ip-range={','.join(self.services)}",
                     *gate_options({**release.api_gates, **self._gates(release)})]
        return listening if self.has_proxy else [*listening, "--endpoint-reconciler-type=none"]

    def controller_options(self, release):
        """Options of kube-controller-manager."""
        if not self.pods:
            return []
        masks = ["--node-cidr-mask-size-ipv4=24", "--node-cidr-mask-size-ipv6=64"]
        if len(self.services) == 1:
            masks = ["--node-cidr-mask-size=64" if ":" in self.node else "--node-cidr-mask-size=24"]
        return ["--allocate-node-cidrs", f"--cluster-cidr={','.join(self.pods)}", *masks, *gate_options(self._gates(release)),
                f"--service-cluster-ip-range={','.join(self.services)}"]

    def kubelet_fields(self, release):
        """Fields of the kubelet's configuration."""
        return {"clusterDNS": [self.name_server], "clusterDomain": "cluster.local", "featureGates": self._gates(release),
                "address": "::" if ":" in self.node else "0.0.0.0"}

    def proxy_fields(self, release):
        """Fields of kube-proxy's configuration."""
        return {"clusterCIDR": ",".join(self.pods), "featureGates": self._gates(release)}

    def _gates(self, release):
        return release.gates(len(self.services))


def in_url(address):
    """As URLs and OVSDB's remotes have it: in brackets if it is of IPv6."""
    return f"[{address}]" if ":" in address else address
