"""A cluster of two nodes with kuryr-cni and kube-proxy, a control plane on the first one, and a machine outside: the test. By
etc/kubernetes, kuryr-controller's backend is local."""
import configparser
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from ipaddress import ip_network
from pathlib import Path

from harness import launcher, runtime_node, service
from harness.host import UPLINK, Segment
from harness.kuryr_daemon import KuryrDaemon
from harness.namespaces import WORK
from harness.process import REPOSITORY, run
from kubernetes import images
from kubernetes.api_server import ClusterApiServer
from kubernetes.cluster import start_controllers
from kubernetes.controllers import is_true
from kubernetes.kubelet_node import KubeletNode, pin_sysctls, user_of
from kubernetes.network import ClusterNetwork, in_url
from kubernetes.node_state import node_state


@dataclass(frozen=True)
class Family:
    """The cluster's networks of IPv4 or IPv6."""

    segment: str  # how addresses of the segment begin
    length: int  # of that network's prefix
    pods: str
    services: str
    later_services: str  # of a ServiceCIDR that comes while the cluster runs

    @property
    def outside(self):
        """The test's address in the segment; the nodes have the next ones."""
        return f"{self.segment}1"

    def service(self, number):
        """The address of a Service, of which the first is the API server's."""
        return str(ip_network(self.services)[number])

    def later_service(self, number):
        return str(ip_network(self.later_services)[number])


FAMILIES = {4: Family("192.0.2.", 24, "10.244.0.0/16", "10.96.0.0/16", "10.97.0.0/24"),
            6: Family("2001:db8:2::", 64, "fd00:244::/56", "fd00:96::/112", "fd00:97::/112")}
launcher.PROGRAMS["controller"] = "kuryr-controller"
DNS_SERVICE = 10
ACCOUNT = "system:serviceaccount:kube-system:"
TOKENS = {"system:kube-proxy": "proxy-token-52c1d0", f"{ACCOUNT}kuryr-daemon": "daemon-token-52c1d0",
          f"{ACCOUNT}kuryr-controller": "controller-token-52c1d0"}
BASE = REPOSITORY / "etc/kubernetes/base"
APPLIED = ("kuryrport/kuryrport.yaml", "agent/rbac.yaml", "controller/rbac-controller.yaml")
FOLDERS = {"kuryr-controller": "controller", "kuryr-daemon": "agent"}
DNS_MANIFEST = REPOSITORY / "tests/kubernetes/cluster-dns.yaml"
AGENT_CONF = Path("/etc/kuryr/kuryr.conf")
PLUGINS = ("portmap", "bandwidth")


class TwoNodes:
    names = ("node1", "node2")
    # Whose address a Service's pod and the outside see, and whether a pod sees clients outside that asked its Service.
    seen_at_service = "its"
    seen_outside = "the node's"
    keeps_clients = True
    proxy_serves_pods = True
    nodes_enforce_policies = True
    # Where their gateway is not their node.
    pods_route_services = False

    def __init__(self, release, options):
        """Its nodes have containerd and Open vSwitch when it returns. options: the launcher's, which name the files of kuryr-cni,
        kuryr-daemon and kuryr-controller, the families, and kube-proxy's mode."""
        self.release, self.options = release, options
        self.families = {family: FAMILIES[family] for family in options.families}
        pin_sysctls()
        self.segment = Segment()
        if 6 in self.families:
            run(f"ip address add {FAMILIES[6].outside}/64 dev {self.segment.bridge} nodad")
        self.hosts = [self._make_host(name) for name in self.names]
        self.network = self._make_network(self._addresses_of(self.hosts[0]))
        users = [*map(user_of, self.names), *(f"{token},{user},{user}" for user, token in TOKENS.items())]
        with ThreadPoolExecutor() as makers:
            packing = makers.submit(images.pack, release, WORK / "images.tar")
            api = makers.submit(ClusterApiServer, release, WORK / "kubernetes", self.network, users, self.hosts[0])
            self.nodes = list(makers.map(self._make_node, self.hosts))
            packing.result()
            list(makers.map(lambda node: node.containerd.import_images(WORK / "images.tar"), self.nodes))
            self.api = api.result()
        (WORK / "images.tar").unlink()

    def _make_host(self, name):
        host = self.segment.make_host(name)
        runtime_node.make_runtime_host(host)
        for family, address in zip(self.families.values(), self._addresses_of(host)):
            if address != host.address:
                host.run(f"ip address add {address}/{family.length} dev {UPLINK} nodad")
            host.run(f"ip route add default via {family.outside}")
        return host

    def _addresses_of(self, host):
        number = host.address.rpartition(".")[2]
        return [f"{family.segment}{number}" for family in self.families.values()]

    def _make_network(self, addresses):
        """addresses: those of the node that the API server is on."""
        first, families = addresses[0], self.families.values()
        return ClusterNetwork(
            first, f"https://{in_url(first)}:6443",
            tuple(family.services for family in families), tuple(family.pods for family in families),
            next(iter(families)).service(DNS_SERVICE), has_proxy=True)

    def _make_node(self, host):
        node = KubeletNode(self.release, self._addresses_of(host), host, snapshotter="overlayfs")
        for plugin in PLUGINS:
            host.path(f"/opt/cni/bin/{plugin}").symlink_to(f"/usr/lib/cni/{plugin}")
        host.path("/opt/cni/bin/kuryr-cni").symlink_to(self.options.plugin)
        return node

    def source_at_service(self, pod, family):
        """The client's address that a Service's pod sees."""
        return pod.addresses[family]

    def source_outside(self, pod, family):
        """The client's address that the outside sees."""
        return self.address_of(pod.node, family)

    def address_of(self, node, family):
        return node.addresses[list(self.families).index(family)]

    def management_address(self, node, family):
        """The address of the node's management port."""
        own = [address.split("/")[0] for address in self.agents[self.nodes.index(node)].status()["node_network"]["addresses"]]
        return next(address for address in own if (":" in address) == (family == 6))

    def start(self):
        """The nodes are ready when it returns."""
        self.start_kubernetes()
        self.states_before = [node_state(node) for node in self.nodes]
        with ThreadPoolExecutor() as starters:
            self.agents = list(starters.map(self._start_agent, self.nodes))
        self.wait_until_ready()

    def start_kubernetes(self):
        """The nodes are registered when it returns."""
        self.admin = start_controllers(self.nodes[0], self.api, options=self.network.controller_options(self.release))
        self._apply(self._manifests())
        self._apply(DNS_MANIFEST.read_text().replace(FAMILIES[4].service(DNS_SERVICE), self.network.name_server))
        self.start_controller()
        for node in self.nodes:
            node.start_kubelet(self.api, **self.network.kubelet_fields(self.release), makeIPTablesUtilChains=True, maxPods=200)
            self._start_proxy(node)
        self.api.wait("the nodes are registered", lambda nodes: len(nodes) == len(self.names), "/api/v1/nodes")

    def wait_until_ready(self):
        """The nodes, and namespace default."""
        # The API server refuses pods of a namespace whose account is not ready yet.
        self.api.wait("namespace default has its account", lambda found: self.release.is_ready(found.get(("default", "default"))),
                      "/api/v1/serviceaccounts")
        self.api.wait("the nodes are ready", lambda nodes: all(is_true(each, "Ready") for each in nodes.values()), "/api/v1/nodes")

    def _manifests(self):
        return joined(APPLIED)

    def _apply(self, manifest):
        run("kubectl", f"--kubeconfig={self.admin}", "apply", "-f", "-", input=manifest)

    # ---- kuryr-cni, as etc/kubernetes has it
    def start_controller(self):
        """It plans nodes that join while it runs, and have no spec.podCIDRs yet."""
        conf = WORK / "kuryr-controller.conf"
        conf.write_text(self._deployed("kuryr-controller", WORK / "controller", self._controller_changes()))
        with open(self.nodes[0].logs / "kuryr-controller.log", "ab") as log:
            self.controller = service.started([self.options.controller, "--config-file", conf], WORK / "controller.ready",
                                              start=self.hosts[0].start, stdout=log, stderr=log)

    def kill_controller(self):
        self.controller.kill()
        self.controller.wait()

    def _start_agent(self, node):
        conf = node.host.path(AGENT_CONF)
        conf.parent.mkdir()
        changes = {"kubernetes": {"node_name": node.name}, **self._agent_changes()}
        conf.write_text(self._deployed("kuryr-daemon", node.host.work / "daemon", changes))
        agent = KuryrDaemon(self.options.daemon, AGENT_CONF, node.host)
        agent.start()
        networks = node.host.path("/etc/cni/net.d")
        networks.mkdir(parents=True, exist_ok=True)
        (networks / "10-kuryr.conflist").write_text(_network_list())
        return agent

    def _controller_changes(self):
        """{section: {option: value}} beside etc/kubernetes'."""
        return {}

    def _agent_changes(self):
        return {}

    def _deployed(self, program, stem, changes):
        """The kuryr.conf of a program, with this cluster's API server and Services. stem: how the paths of its files begin;
        changes: {section: {option: value, or None for no such option}}."""
        token = Path(f"{stem}.token")
        token.write_text(TOKENS[f"{ACCOUNT}{program}"])
        conf = configparser.RawConfigParser()
        conf.read(self._conf_files(program))
        # In pods each program has a folder of its own for it.
        if conf.has_option("health_server", "socket"):
            conf.set("health_server", "socket", f"{stem}.sock")
        own = {"kubernetes": {"api_root": self.api.url, "ssl_ca_crt_file": self.api.ca, "token_file": token},
               "node_network": {"service_cidrs": ", ".join(self.network.services)}}
        for section, options in [*own.items(), *changes.items()]:
            if not conf.has_section(section):
                conf.add_section(section)
            for name, value in options.items():
                conf.set(section, name, value)
        return "".join(f"[{section}]\n" + "".join(f"{name} = {value}\n" for name, value in conf.items(section) if value is not None)
                       for section in conf.sections())

    def _conf_files(self, program):
        return [BASE / FOLDERS[program] / "kuryr.conf"]

    # ---- Kubernetes
    def _start_proxy(self, node):
        kubeconfig = self.api.write_kubeconfig(node.host.work / "kube-proxy.kubeconfig", TOKENS["system:kube-proxy"])
        configuration = node.host.work / "kube-proxy.json"
        configuration.write_text(json.dumps({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1", "kind": "KubeProxyConfiguration", "mode": self.options.proxy,
            "clientConnection": {"kubeconfig": str(kubeconfig)}, "hostnameOverride": node.name, **self.network.proxy_fields(self.release),
            # Zero leaves the machine's own settings alone.
            "conntrack": {"maxPerCore": 0, "min": 0, "tcpEstablishedTimeout": "0s", "tcpCloseWaitTimeout": "0s"},
            "iptables": {"minSyncPeriod": "0s", "syncPeriod": "30s"}}))
        node.start("kube-proxy", [f"{self.release.programs}/kube-proxy", f"--config={configuration}"])


def joined(names):
    """Manifests of etc/kubernetes/base."""
    return "---\n".join((BASE / name).read_text() for name in names)


def _network_list():
    """etc/10-kuryr.conflist with portmap."""
    network = json.loads((REPOSITORY / "etc/10-kuryr.conflist").read_text())
    if "portmap" not in [plugin["type"] for plugin in network["plugins"]]:
        network["plugins"].append({"type": "portmap", "capabilities": {"portMappings": True}, "snat": True})
    return json.dumps(network)
