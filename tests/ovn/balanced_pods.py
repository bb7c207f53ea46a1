"""Pods that answer as endpoints of Services that OVN balances, and what their clients reach."""
import contextlib
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
[os_vif_ovs]
datapath_type = netdev
"""
NODES, ZONE_LABEL = "/api/v1/nodes", "topology.kubernetes.io/zone"
SERVICES = "/api/v1/namespaces/default/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
EVENTS = "/api/v1/namespaces/default/events"
PROTOCOLS = ("tcp", "udp")
READY, ENDING = {"ready": True}, {"ready": False, "serving": True, "terminating": True}
SERVICE_ADDRESS, SERVICE_PORT = {4: "10.96.0.7", 6: "fd00:96::7"}, 80
# So many show both of two endpoints, but for once in a million.
CALLS, CALL_SECONDS, AGAIN_SECONDS = 20, 1, 0.1
# A client of UDP has moved when so many answers in a row say so.
DATAGRAMS, PAUSE_SECONDS = 5, 0.05


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
            self.api.request("POST", NODES, {"metadata": {"name": name}})
        self.controller = FakesController(0, chosen.controller, self.api, "kuryrport", BACKEND)
        self.sandboxes, self.addresses, self.servers, self.listeners = {}, {}, {}, {}
        for name in NAMES:
            self.run_pod(name)
        for family, address in SERVICE_ADDRESS.items():
            run(f"ip address add {address} dev lo {'nodad' if family == 6 else ''}")
            self.listen(NODE, family, address, SERVICE_PORT)

    def listen(self, name, family, address, port):
        """By TCP and UDP, in the network of now."""
        self.servers[name, family] = socket.create_server((address, port), family=FAMILIES[family])
        self.listeners[name, family] = listener = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)
        if family == 6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((address, port))

    def run_pod(self, name):
        """Plugs it, and waits until OVN has its plan."""
        made = self.api.create_pod(name)
        sandbox = self.node.attachment(pod=Sandbox(name, made.uid), conf={"kuryr_conf": self.node.kuryr.usual_conf})
        addresses = [each["address"].split("/")[0] for each in sandbox.add().result()["ips"]]
        self.sandboxes[name] = sandbox
        self.addresses[name] = {6 if ":" in each else 4: each for each in addresses}
        if name != "client":
            with network(sandbox.netns_path):
                for family, address in ANY.items():
                    self.listen(name, family, address, PORT)

    def move(self, zone):
        """The pods' node to that zone; None: to no zone."""
        self.api.patch(f"{NODES}/{HERE_NODE}", {"metadata": {"labels": {ZONE_LABEL: zone}}})

    def serve(self, family, places, **more):
        return BalancedService(self, family, places, **more)

    def reached(self, family, client, calls=CALLS):
        """The names of what connections to the Service reach."""
        servers = {server: name for (name, of), server in self.servers.items() if of == family}
        found = set()
        for _ in range(calls):
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

    def wait_for_event(self, reason, name):
        """Its message."""
        deadline = time.monotonic() + EVENT_SECONDS
        while True:
            for event in self.api.get(EVENTS)["items"]:
                if event["reason"] == reason and event["involvedObject"]["name"] == name:
                    return event["message"]
            expect(time.monotonic() < deadline, f"no Event {reason} of {name}")
            time.sleep(AGAIN_SECONDS)

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


class UdpClient:
    """One socket of the client, which keeps sending, with a pause between datagrams: docs/ovn-services.md says what becomes of one
    that makes none."""

    def __init__(self, pods, family):
        self.pods, self.family = pods, family
        with network(pods.sandboxes["client"].netns_path):
            self.socket = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)

    def ask(self):
        """The name of what its next datagram reaches, if anything."""
        listeners = {listener: name for (name, of), listener in self.pods.listeners.items() if of == self.family}
        time.sleep(PAUSE_SECONDS)
        with contextlib.suppress(OSError):  # A former one was refused.
            self.socket.sendto(b"?", (SERVICE_ADDRESS[self.family], SERVICE_PORT))
        reached = [listeners[listener] for listener in select.select(list(listeners), [], [], AGAIN_SECONDS)[0]
                   if listener.recv(1)]
        return reached[0] if reached else None

    def expect(self, wanted):
        deadline = time.monotonic() + EVENT_SECONDS
        last = []
        while last != [wanted] * DATAGRAMS and time.monotonic() < deadline:
            last = [*last[1 - DATAGRAMS:], self.ask()]
            if last[-1] != wanted:
                self.pods.node.ovs.forget_flows()
        expect_same([wanted] * DATAGRAMS, last, "reached")


def hinted(*zones, nodes=()):
    """The place of an endpoint that is for these."""
    return OTHER_NODE, READY, {kind: [{"name": name} for name in names] for kind, names in (("forZones", zones), ("forNodes", nodes))}


class BalancedService:
    """A Service whose endpoints are pods of BalancedPods, in one slice."""

    def __init__(self, pods, family, places, name="web", ports=1, **spec):
        """places: {pod: the node of its endpoint, or (node, conditions, hints)}; spec: more of the Service's."""
        self.pods, self.family, self.name = pods, family, f"{name}{family}"
        pods.api.request("POST", SERVICES, {"metadata": {"name": self.name}, "spec": {
            "clusterIPs": [SERVICE_ADDRESS[family]], "ports": self.ports(ports), **spec}})
        pods.api.request("POST", SLICES, {
            "metadata": {"name": self.name, "labels": {"kubernetes.io/service-name": self.name}}, "addressType": f"IPv{family}",
            "ports": [{"name": name, "port": PORT, "protocol": name.upper()} for name in PROTOCOLS],
            "endpoints": self.endpoints(places)})

    @staticmethod
    def ports(count):
        """So many of each protocol."""
        return [{"name": name, "port": SERVICE_PORT + number, "protocol": name.upper()} for name in PROTOCOLS for number in range(count)]

    def endpoints(self, places):
        of = {pod: place if isinstance(place, tuple) else (place, READY) for pod, place in places.items()}
        return [{"addresses": [self.pods.addresses[pod][self.family]], "nodeName": node, "conditions": conditions,
                 "hints": hints[0] if hints else {}} for pod, (node, conditions, *hints) in of.items()]

    def place(self, places, *more):
        """more: addresses of further endpoints, which come first."""
        strange = [{"addresses": [address], "nodeName": HERE_NODE} for address in more]
        self.pods.api.patch(f"{SLICES}/{self.name}", {"endpoints": strange + self.endpoints(places)})

    def restrict(self, policy):
        self.pods.api.patch(f"{SERVICES}/{self.name}", {"spec": {"internalTrafficPolicy": policy}})

    def widen(self, ports):
        self.pods.api.patch(f"{SERVICES}/{self.name}", {"spec": {"ports": self.ports(ports)}})

    def label(self, kind, label, value):
        """kind: SERVICES or SLICES; value: None removes the label."""
        self.pods.api.patch(f"{kind}/{self.name}", {"metadata": {"labels": {label: value}}})

    def expect(self, wanted, client="client"):
        self.pods.expect(self.family, wanted, client)

    def wait_for_rules(self):
        """Until the node has the flows of the first form."""
        self.pods.node.ovn.nbctl("wait-until", "Load_Balancer", f"kuryr/default/{self.name}/tcp")
        self.pods.node.ovn.wait_for_rules()

    def answers(self, client):
        """The names of what connections of a client reach, one after another; None: no answer."""
        return [next(iter(self.pods.reached(self.family, client, calls=1)), None) for _ in range(CALLS)]

    def delete(self):
        for path in (SERVICES, SLICES):
            self.pods.api.request("DELETE", f"{path}/{self.name}")
