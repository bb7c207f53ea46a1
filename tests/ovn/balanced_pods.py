"""Pods that answer as endpoints of Services that OVN balances, and what their clients reach."""
import select
import socket
import time

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from harness.kube_api import TOKEN
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.namespaces import network
from harness.pod import Pod as Sandbox
from harness.process import run
from ovn.central import EVENT_SECONDS, HOST_NAME, NORTHBOUND
from ovn.exchange import ANY, FAMILIES, PORT
from ovn.node import make_node

HERE_NODE, OTHER_NODE = HOST_NAME, "node2"
NAMES = ("client", "one", "other")
# It answers at the Services' addresses, as kube-proxy would.
NODE = "the node"
NODE_NETWORK = {"enabled": "true", "interface": "kuryr0"}
BACKEND = f"""[controller]
backend = ovn
leader_elect = false
[ovn]
nb_connection = {NORTHBOUND}
services = ovn
[node_network]
enabled = true
[pool:pods]
cidr = 10.44.0.0/16, fd00:44::/48
node_prefix = 24, 64
default = true
"""
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
SERVICE_ADDRESS, SERVICE_PORT = {4: "10.96.0.7", 6: "fd00:96::7"}, 80
# So many show both of two endpoints, but for once in a million.
CALLS, CALL_SECONDS, AGAIN_SECONDS = 20, 1, 0.1


class FakesController(Controller):
    token = TOKEN


class BalancedPods:
    def __init__(self, chosen):
        """chosen: the launcher's options."""
        self.node = make_node(chosen.plugin, chosen.daemon)
        self.api = self.node.pods.api
        kuryr = Kuryr(self.node.pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": EVENT_SECONDS},
                      node_network=NODE_NETWORK)
        self.node.agent.stop()
        self.node.give(kuryr=kuryr, agent=KuryrDaemon(chosen.daemon, kuryr.usual_conf))
        self.node.agent.start()
        for name in (HERE_NODE, OTHER_NODE):
            self.api.request("POST", "/api/v1/nodes", {"metadata": {"name": name}})
        self.controller = FakesController(0, chosen.controller, self.api, "kuryrport", BACKEND)
        self.sandboxes, self.addresses, self.servers = {}, {}, {}
        for name in NAMES:
            self.run_pod(name)
        for family, address in SERVICE_ADDRESS.items():
            run(f"ip address add {address} dev lo {'nodad' if family == 6 else ''}")
            self.servers[NODE, family] = socket.create_server((address, SERVICE_PORT), family=FAMILIES[family])

    def run_pod(self, name):
        made = self.api.create_pod(name)
        sandbox = self.node.attachment(pod=Sandbox(name, made.uid), conf={"kuryr_conf": self.node.kuryr.usual_conf})
        addresses = [each["address"].split("/")[0] for each in sandbox.add().result()["ips"]]
        self.sandboxes[name] = sandbox
        self.addresses[name] = {6 if ":" in each else 4: each for each in addresses}
        if name != "client":
            with network(sandbox.netns_path):
                self.servers |= {(name, family): socket.create_server((ANY[family], PORT), family=kind)
                                 for family, kind in FAMILIES.items()}

    def serve(self, family, places):
        return BalancedService(self, family, places)

    def reached(self, family, client):
        """The names of what connections to the Service reach."""
        servers = {server: name for (name, of), server in self.servers.items() if of == family}
        found = set()
        for _ in range(CALLS):
            with network(self.sandboxes[client].netns_path):
                made = socket.socket(FAMILIES[family], socket.SOCK_STREAM)
            with made:
                made.settimeout(CALL_SECONDS)
                try:
                    made.connect((SERVICE_ADDRESS[family], SERVICE_PORT))
                except OSError:
                    return found
                for server in select.select(list(servers), [], [], CALL_SECONDS)[0]:
                    server.accept()[0].close()
                    found.add(servers[server])
        return found

    def expect(self, family, wanted, client="client"):
        """Waits until a client reaches these alone by the Service."""
        deadline = time.monotonic() + EVENT_SECONDS
        while (found := self.reached(family, client)) != wanted and time.monotonic() < deadline:
            self.node.ovs.forget_flows()
            time.sleep(AGAIN_SECONDS)
        expect_same(wanted, found, "reached")

    def wait_until_no_rows(self):
        def rows():
            return (self.node.ovn.nbctl("--bare", "--columns=name", "list", "Load_Balancer")
                    + self.node.ovn.nbctl("--bare", "--columns=ip_prefix", "find", "Logical_Router_Static_Route", "nexthop=discard"))
        deadline = time.monotonic() + EVENT_SECONDS
        while left := rows().split():
            expect(time.monotonic() < deadline, f"{left} is left")
            time.sleep(AGAIN_SECONDS)

    def errors(self):
        return [line for line in self.controller.log.read_text().splitlines() if "level=error" in line]


class BalancedService:
    """A Service whose endpoints are pods of BalancedPods, in one slice."""

    def __init__(self, pods, family, places):
        """places: {pod: the node of its endpoint}"""
        self.pods, self.family, self.name = pods, family, f"web{family}"
        pods.api.request("POST", SERVICES, {"metadata": {"name": self.name}, "spec": {
            "clusterIPs": [SERVICE_ADDRESS[family]], "ports": [{"port": SERVICE_PORT}]}})
        pods.api.request("POST", SLICES, {
            "metadata": {"name": self.name, "labels": {"kubernetes.io/service-name": self.name}}, "addressType": f"IPv{family}",
            "ports": [{"name": "", "port": PORT, "protocol": "TCP"}], "endpoints": self.endpoints(places)})

    def endpoints(self, places):
        return [{"addresses": [self.pods.addresses[pod][self.family]], "nodeName": node} for pod, node in places.items()]

    def place(self, places):
        self.pods.api.patch(f"{SLICES}/{self.name}", {"endpoints": self.endpoints(places)})

    def restrict(self, policy):
        self.pods.api.patch(f"{SERVICES}/{self.name}", {"spec": {"internalTrafficPolicy": policy}})

    def expect(self, wanted, client="client"):
        self.pods.expect(self.family, wanted, client)

    def delete(self):
        for path in (SERVICES, SLICES):
            self.pods.api.request("DELETE", f"{path}/{self.name}")
