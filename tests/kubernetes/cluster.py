"""A cluster of one node: the programs of Kubernetes and Open vSwitch on the test's own node."""
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.host import HERE
from harness.namespaces import WORK
from harness.process import run
from kubernetes.api_server import ClusterApiServer
from kubernetes.kubelet_node import KubeletNode, PACKAGED, pin_sysctls, user_of
from kubernetes.network import ClusterNetwork

SERVICE_IP, NODE_IP = "10.96.0.1", "192.0.2.1"
# The node has the address of the API server's Service, as no kube-proxy leads there.
ONE_NODE = ClusterNetwork(NODE_IP, f"https://{SERVICE_IP}", ("10.96.0.0/16",))
CONTROLLERS = ("daemonset", "deployment", "replicaset", "disruption", "serviceaccount", "serviceaccount-token",
               "root-ca-cert-publisher", "garbagecollector")


def start_controllers(node, api, controllers="*", options=()):
    """Starts kube-controller-manager and kube-scheduler on a node."""
    admin, tls = api.folder / "admin.kubeconfig", api.folder / "tls"
    api.write_kubeconfig(admin)
    node.start("kube-controller-manager", [
        f"{node.release.programs}/kube-controller-manager", f"--kubeconfig={admin}", "--leader-elect=false",
        f"--controllers={controllers}", f"--service-account-private-key-file={tls}/server.key",
        f"--root-ca-file={tls}/ca.crt", f"--cert-dir={api.folder}/controllers", *options])
    node.start("kube-scheduler", [f"{node.release.programs}/kube-scheduler", f"--kubeconfig={admin}", "--leader-elect=false",
                                  f"--cert-dir={api.folder}/scheduler"])
    return admin


class Cluster:
    """On a node of harness.runtime_node."""

    def __init__(self, release):
        for address in (NODE_IP, SERVICE_IP):
            run(f"ip address add {address}/32 dev lo")
        self.starting = ThreadPoolExecutor(1).submit(
            ClusterApiServer, release, WORK / "kubernetes", ONE_NODE, [user_of(HERE.name)])
        self.node = KubeletNode(release, [NODE_IP], packaged=PACKAGED)

    def start_kubernetes(self):
        """The node is registered when it returns."""
        self.api = self.starting.result()
        admin = start_controllers(self.node, self.api, ",".join((*CONTROLLERS, *self.node.release.node_controllers)))
        # kubectl's.
        Path.home().joinpath(".kube").mkdir()
        Path.home().joinpath(".kube/config").symlink_to(admin)
        pin_sysctls()
        self.node.start_kubelet(self.api)
        self.api.wait("the node is registered", bool, "/api/v1/nodes")
