"""The node's management port is a port of Neutron: node and pods reach each other, and kube-proxy's Services need no Octavia."""
import json
import signal
from types import SimpleNamespace

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.pod import ANNOTATION
from harness.process import run
from neutron import facts_of_policies, facts_of_takeover, services
from neutron.network import TAG
from ovn import exchange
from ovn.central import HOST_NAME
from ovn.exchange import FAMILIES, KINDS
from ovn.node import AGENT

INTERFACE = "kuryr0"
NETWORK = {"enabled": "true", "interface": INTERFACE, "service_cidrs": ",".join(services.CIDRS.values())}
OTHER_NODES = ("node2", "node3")


class Nodes:
    """A kuryr-controller and a kuryr-daemon with [node_network] enabled."""

    def __init__(self, planning):
        self.planning, self.api, self.neutron = planning, planning.api, planning.neutron
        self.group = planning.network.add_group("nodes")
        planning.network.let_in(self.group)
        for name in OTHER_NODES:  # Neutron knows no such hosts.
            self.delete(name)
        kuryr = Kuryr(planning.node.pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": 60}, node_network=NETWORK)
        planning.confs[AGENT] = kuryr.usual_conf
        planning.node.agent.stop()
        planning.node.give(kuryr=kuryr, agent=KuryrDaemon(planning.node.agent.program, kuryr.usual_conf))
        options = "".join(f"{name} = {value}\n" for name, value in NETWORK.items())
        self.options = planning.network.backend() + f"node_security_groups = {self.group}\n[node_network]\n{options}"
        self.controller = Controller(5, planning.controller.program, self.api, "kuryrport", self.options)
        planning.node.agent.start()

    # ---- of Kubernetes
    @staticmethod
    def path(name):
        return f"/api/v1/nodes/{name}"

    def create(self, name):
        """The new Node's UID."""
        return json.loads(self.api.request("POST", "/api/v1/nodes", {"metadata": {"name": name}}))["metadata"]["uid"]

    def delete(self, name):
        self.api.request("DELETE", self.path(name))

    def uid(self):
        return self.api.get(self.path(HOST_NAME))["metadata"]["uid"]

    def plan(self):
        """The VIF's data on the Node; empty where it has none."""
        text = self.api.get(self.path(HOST_NAME))["metadata"].get("annotations", {}).get(ANNOTATION)
        if not text:
            return {}
        return json.loads(text)["versioned_object.data"]["default_vif"]["versioned_object.data"]

    def wait_for_plan(self, but=None):
        """An active plan with another port than `but`."""
        def find():
            found = self.plan()
            return found if found.get("active") and found["id"] != but else None
        return self.planning.wait_for("the node's active plan", find)

    # ---- of the node
    def port(self):
        """What Neutron says of the Node's only port."""
        port, = self.planning.ports_of(self.uid())
        return port

    def end(self):
        """The node as an end of an exchange."""
        return SimpleNamespace(netns_path="/proc/thread-self/ns/net", pod=SimpleNamespace(plan=self.planning.plan_of(self.port())))

    def link(self):
        """The management port's link; None without one."""
        found = json.loads(run(f"ip --json address show dev {INTERFACE}", check=False) or "[]")
        return found[0] if found else None

    def wait_for_link(self, plan):
        """The link has the plan's MAC and addresses."""
        wanted = {plan["address"], *self.planning_addresses()}
        self.planning.wait_for(f"{INTERFACE} as planned", lambda: self.link() and wanted <= {
            self.link()["address"], *(each["local"] for each in self.link()["addr_info"])})

    def planning_addresses(self):
        return [ip["ip_address"] for ip in self.port()["fixed_ips"]]


def check(facts, planning):
    """kuryr-controller of `planning` has ended."""
    with facts.fact("nodes: kuryr-controller makes the node's port in Neutron, kuryr-daemon makes it a port of br-int, and it is ACTIVE",
                    basis=True):
        nodes = Nodes(planning)
        nodes.wait_for_link(nodes.wait_for_plan())
    with facts.fact("nodes: the port is bound to the node's host, may send from the Services' networks, and has groups of its own"):
        port = nodes.port()
        pairs = {pair["ip_address"] for pair in port["allowed_address_pairs"]}
        expect_same(["compute:kuryr", HOST_NAME, "ACTIVE", [TAG], [nodes.group], set(services.CIDRS.values())],
                    [port["device_owner"], port["binding:host_id"], port["status"], port["tags"], port["security_groups"], pairs], "port")
    client, server = exchanges(facts, nodes)
    use_services(facts, nodes, client, server)
    facts_of_policies.check(facts, nodes, nodes.options, client, server)
    facts_of_takeover.check(facts, nodes, nodes.options, server, client)
    lose(facts, nodes, client)
    go(facts, nodes, (client, server))
    nodes.controller.end(signal.SIGTERM)


def exchanges(facts, nodes):
    with facts.fact("nodes: pods have routes to the Services by their node", basis=True):
        client, server = (nodes.planning.run_pod(f"of-node-{name}")[0] for name in ("client", "server"))
        subnets = nodes.planning.vifs_of("of-node-client")["eth0"]["network"]["versioned_object.data"]["subnets"]
        routes = [route["versioned_object.data"] for subnet in subnets["versioned_object.data"]["objects"]
                  for route in subnet["versioned_object.data"]["routes"]["versioned_object.data"].get("objects", [])]
        expect_same(sorted(zip(services.CIDRS.values(), nodes.planning_addresses(), strict=True)),
                    sorted((route["cidr"], route["gateway"]) for route in routes), "routes")
    for family in FAMILIES:
        for kind, send in KINDS.items():
            with facts.fact(f"nodes: {kind} from the node to a pod, and from a pod to the node, IPv{family}"):
                send(nodes.end(), server, family)
                send(client, nodes.end(), family)
    return client, server


def use_services(facts, nodes, client, server):
    with facts.fact("nodes: a real kube-proxy has a Service of both families", basis=True):
        nodes.planning.node.give(proxy=services.Proxy(nodes.api))
        addresses = services.create(nodes.api, "web", server.pod.plan)
        expect_same(set(FAMILIES), set(addresses), "families")
    for family in FAMILIES:
        with facts.fact(f"nodes: a pod reaches another pod by its Service, and itself, IPv{family}"):
            by = (addresses[family], services.SERVICE_PORT)
            nodes.planning.wait_for("kube-proxy's rules", lambda by=by: " ".join(by[:1]) in run(
                "ip6tables-save -t nat" if ":" in by[0] else "iptables-save -t nat"))
            exchange.tcp(client, server, family, by=by)
            exchange.tcp(server, server, family, by=by)


def lose(facts, nodes, client):
    """Ways to lose the port."""
    planning, node = nodes.planning, nodes.planning.node
    with facts.fact("nodes: the port is deleted on br-int while the agent is dead: the agent makes it again, and Neutron says ACTIVE"):
        port = nodes.port()
        node.agent.kill()
        node.ovs.vsctl("del-port", INTERFACE)
        planning.neutron.wait_for_status(port["id"], "DOWN", 60)
        node.agent.start()
        planning.neutron.wait_for_status(port["id"], "ACTIVE", 60)
        exchange.ping(nodes.end(), client, 4)
    with facts.fact("nodes: the next leader finds the port, and makes no second"):
        nodes.controller.end(signal.SIGKILL)
        nodes.controller.start()
        planning.wait_for("it leads", nodes.controller.is_ready)
        planning.wait_for("the plan is its own", lambda: nodes.controller.metrics().get(
            'kuryr_controller_nodes{state="planned"}') == 1)
        expect_same([port["id"]] * 2, [nodes.port()["id"], nodes.plan()["id"]], "port")
    with facts.fact("nodes: a port that somebody deletes in Neutron is made again, and the node takes it"):
        planning.neutron.delete("port", port["id"])
        # It looks soon after it begins to lead.
        nodes.controller.end(signal.SIGKILL)
        nodes.controller.start()
        nodes.wait_for_link(nodes.wait_for_plan(but=port["id"]))
        exchange.ping(nodes.end(), client, 4)


def go(facts, nodes, pods):
    planning, node = nodes.planning, nodes.planning.node
    with facts.fact("nodes: a deleted Node's port goes from Neutron, and from the node; a new Node gets another"):
        former = nodes.port()
        uid = nodes.uid()
        nodes.delete(HOST_NAME)
        planning.wait_for("no port", lambda: not planning.ports_of(uid))
        planning.wait_for("no link", lambda: not nodes.link())
        nodes.create(HOST_NAME)
        expect(nodes.wait_for_plan()["id"] != former["id"], "it has the former port")
    with facts.fact("nodes: orphans lists the port of a Node that was deleted while nobody led, and --remove deletes it"):
        uid = nodes.uid()
        nodes.controller.end(signal.SIGTERM)
        expect("what node" not in orphans(nodes), "a Node's port is an orphan")
        nodes.delete(HOST_NAME)
        said = orphans(nodes)
        expect(f"what node {HOST_NAME} ({uid}) has in the backend: the node is gone" in said, said)
        orphans(nodes, "--remove", "--force")
        expect(not planning.ports_of(uid), "the port is left")
        nodes.create(HOST_NAME)
        nodes.controller.start()
    for made in pods:
        made.delete().silent()
        planning.delete(made.pod.name)
    for made in pods:
        planning.wait_for("no port", lambda uid=made.pod.uid: not planning.ports_of(uid))
    node.proxy.stop()
    with facts.fact("nodes: kuryr-daemon remove-node-network leaves nothing on the node"):
        nodes.wait_for_link(nodes.wait_for_plan())
        node.agent.stop()
        run(node.agent.program, "--config-file", node.agent.conf, "remove-node-network")
        expect(not nodes.link(), f"{INTERFACE} is left")


def orphans(nodes, *options):
    """What kuryr-controller orphans says, with the options of the nodes' controller."""
    planning = SimpleNamespace(controller=nodes.controller)
    return type(nodes.planning).orphans(planning, *options)
