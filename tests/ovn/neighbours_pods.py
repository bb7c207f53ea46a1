"""Pods and management ports on OVN whose packets, wishes and plans are forged."""
import collections
import contextlib
import json
import signal
import socket
import time

from harness.expectation import expect
from harness.kube_api import TOKEN
from harness.namespaces import WORK, network
from harness.pod import Pod as Sandbox
from harness.process import run
from ovn.central import CONTROLLER, EVENT_SECONDS, HOST_NAME, NORTHBOUND, SOUTHBOUND
from ovn.controlled_pods import ControlledPods
from ovn.exchange import ANY, FAMILIES
from ovn.neighbour_frames import arriving, mark
from ovn.node import make_node

OTHER_NODE = "node2"
LINK, HERE_NETNS = "kuryr0", "/proc/self/ns/net"
NAMES = ("one", "other", "former")
MAC, ADDRESSES = (f"kuryr.openstack.org/{name}" for name in ("mac-address", "ip-addresses"))
PAUSE = [{"name": "pause", "image": "pause"}]
# The priorities of the ACLs of NetworkPolicies: docs/ovn-rows.md.
DROPS, ALLOWS = (1000, 1000), (1001, 1999)
OPEN_PORT, LARGE = 7777, bytes(4000)
AGAIN_SECONDS, SHORT_SECONDS = 0.1, 3
MACHINES = "ba5e", "0dd5"
# A minute after its start kuryr-controller removes what nobody has.
CLEAN_SECONDS = 120
BACKEND = f"""[controller]
backend = ovn
leader_elect = false
[ovn]
nb_connection = {NORTHBOUND}
sb_connection = {SOUTHBOUND}
[node_network]
enabled = true
[pool:pods]
cidr = 10.44.0.0/16, fd00:44::/48
node_prefix = 24, 64
default = true
"""
ManagementPort = collections.namedtuple("ManagementPort", "name mac addresses")  # addresses: by family


def by_family(addresses):
    return {6 if ":" in each else 4: each for each in addresses}


class Neighbours(ControlledPods):
    pods, policies, events = (f"/{path}/namespaces/default/{kind}" for path, kind in (
        ("api/v1", "pods"), ("apis/networking.k8s.io/v1", "networkpolicies"), ("api/v1", "events")))

    def __init__(self, chosen):
        """chosen: the launcher's options."""
        super().__init__(chosen, make_node(chosen.plugin, chosen.daemon), BACKEND,
                         node_network={"enabled": "true", "interface": LINK},
                         ovn={"manage_node": "true", "sb_connection": SOUTHBOUND})
        self.addresses, self.count = {}, 0
        for name in NAMES:
            self.add(name)

    def add(self, name):
        self.addresses[name] = self.run_pod("default", {"name": name}, PAUSE)["eth0"]

    def add_in_vain(self, name):
        """The answer of an ADD that waits for a short time."""
        uid = self.create(name)["metadata"]["uid"]
        conf = self.node.kuryr.write_conf(daemon_enabled="false", vif_annotation_timeout=SHORT_SECONDS)
        made = self.node.attachment(pod=Sandbox(name, uid), conf={"kuryr_conf": conf})
        try:
            return made.add()
        finally:
            made.delete().silent()

    def until(self, what, find, seconds=EVENT_SECONDS):
        """Until find() is true; returns it."""
        deadline = time.monotonic() + seconds
        while not (found := find()):
            expect(time.monotonic() < deadline, f"not within {seconds} s: {what}")
            time.sleep(AGAIN_SECONDS)
        return found

    def netns(self, name):
        return self.sandboxes[f"default/{name}"].netns_path

    # ---- packets
    def mac(self, name):
        with network(self.netns(name)):
            return json.loads(run("ip", "-j", "link", "show", "eth0"))[0]["address"]

    def ways_of(self, name):
        """The pod's IPv6 addresses and routes."""
        with network(self.netns(name)):
            return run("ip", "-6", "-o", "address", "show", "scope", "global"), run("ip", "-6", "route")

    def send(self, make):
        """The names of what arrives of make(MAC, addresses, target's MAC, target's addresses) from pod to pod."""
        ends = (self.mac("one"), self.addresses["one"], self.mac("other"), self.addresses["other"])
        return arriving((self.netns("one"), "eth0"), self.netns("other"), make(*ends), mark(*ends))

    def send_from_node(self, frames):
        """The same from the node's management port. frames: {name: make(target's MAC, target's addresses)}"""
        own, to = self.management_port(HOST_NAME), (self.mac("other"), self.addresses["other"])
        return arriving((HERE_NETNS, LINK), self.netns("other"), {name: make(*to) for name, make in frames.items()},
                        mark(own.mac, own.addresses, *to))

    def answer(self, family, question, answer):
        """Datagrams between two pods there and back."""
        with contextlib.ExitStack() as stack:
            ends = []
            for name in ("one", "other"):
                with network(self.netns(name)):
                    ends.append(stack.enter_context(socket.socket(FAMILIES[family], socket.SOCK_DGRAM)))
                ends[-1].settimeout(EVENT_SECONDS)
            ends[1].bind((ANY[family], OPEN_PORT))
            ends[0].sendto(question, (self.addresses["other"][family], OPEN_PORT))
            data, peer = ends[1].recvfrom(65536)
            expect(data == question, f"{len(data)} bytes of {len(question)}")
            ends[1].sendto(answer, peer)
            expect(ends[0].recv(65536) == answer, "another answer")

    @staticmethod
    def ping_here(address):
        run("ping", "-n", "-q", "-c", "1", "-W", str(EVENT_SECONDS), address)

    def ping(self, name, address):
        with network(self.netns(name)):
            self.ping_here(address)

    def ping_from_node(self, name, family):
        self.ping_here(self.addresses[name][family])

    def traced(self, sender, source, target):
        """What OVN does with a ping from the management port of a node, whose source is another node's address."""
        port, mac, _ = self.management_port(sender)
        version = 6 if ":" in source else 4
        ping = "icmp6.type == 128" if version == 6 else "icmp4.type == 8"
        flow = (f'inport == "{port}" && eth.src == {mac} && eth.dst == {self.router_mac(sender)} && ip{version}.src == {source} && '
                f'ip{version}.dst == {target} && ip.ttl == 64 && {ping}')
        return run("ovn-trace", f"--db={SOUTHBOUND}", "--minimal", "--ct=new", "--ct=new", "--ct=new", f"kuryr/node/{sender}", flow)

    # ---- policies
    def allow(self, rule):
        """Policy "closed" with this rule alone, once packets go by it."""
        self.api.patch(f"{self.policies}/closed", {"spec": {"ingress": [rule]}})
        self.wait_for_acl(*ALLOWS)

    def wait_for_acl(self, least, most):
        """Until packets go by an ACL whose priority is one of these."""
        self.until(f"an ACL with a priority of {least} to {most}", lambda: self.node.ovn.nbctl(
            "--bare", "--columns=_uuid", "find", "ACL", f"priority>={least}", f"priority<={most}").strip())
        self.node.ovn.wait_for_rules()

    # ---- what kuryr-controller makes
    def management_port(self, node):
        name, addresses = (self.node.ovn.nbctl("--bare", f"--columns={column}", "find", "Logical_Switch_Port",
                                               f"external_ids:kuryr-name={node}").strip() for column in ("name", "addresses"))
        mac, *rest = addresses.split()
        return ManagementPort(name, mac, by_family(rest))

    def router_port(self, node, column):
        return self.node.ovn.nbctl("--bare", f"--columns={column}", "find", "Logical_Router_Port", f"name=kuryr/node/{node}").strip()

    def router_mac(self, node):
        return self.router_port(node, "mac")

    def gateways(self, node):
        return by_family(each.split("/")[0] for each in self.router_port(node, "networks").split())

    # ---- wishes and plans
    def create(self, name, annotations=None):
        return self.ask("POST", self.pods, {"metadata": {"name": name, "annotations": annotations or {}},
                                            "spec": {"nodeName": HOST_NAME, "containers": PAUSE}})

    def wait_for_event(self, pod, reason):
        """Its message."""
        def find():
            return [event["message"] for event in self.api.get(self.events)["items"]
                    if (event["involvedObject"]["name"], event["reason"]) == (pod, reason)]
        return self.until(f"Event {reason} of {pod}", find)[-1]

    def told_of_wish(self, wish, reason):
        """The message of the Event that a pod with this wish gets; it has no plan."""
        self.count += 1
        name = f"wishing-{self.count}"
        self.create(name, wish)
        message = self.wait_for_event(name, reason)
        expect(self.planned_mac(name) is None, "it has a plan")
        self.api.request("DELETE", f"{self.pods}/{name}?gracePeriodSeconds=0")
        return message

    def told_of_address(self, address, reason):
        return self.told_of_wish({ADDRESSES: address}, reason)

    @staticmethod
    def kuryrport(name):
        return f"/apis/openstack.org/v1/namespaces/default/kuryrports/{name}"

    def vif_of(self, name):
        """The VIF of the pod's KuryrPort; None where it has none."""
        for port in self.api.get(self.kuryrport(""))["items"]:
            if port["metadata"]["name"] == name and port["status"]["vifs"]:
                return port["status"]["vifs"]["eth0"]["vif"]["versioned_object.data"]
        return None

    def planned_mac(self, name):
        vif = self.vif_of(name)
        return vif and vif["address"]

    def take_mac(self, mac, runs, waits):
        """Two pods have this MAC by their plans and in OVN when kuryr-controller starts. runs: the name of one that is plugged;
        waits: of one that is made for this."""
        self.create(waits)
        ids = {name: self.until(f"{name}'s plan", lambda name=name: self.vif_of(name))["id"] for name in (runs, waits)}
        self.controller.end(signal.SIGKILL)
        for name, port in ids.items():
            change = {"address": mac}
            self.api.patch(self.kuryrport(name), {"status": {"vifs": {"eth0": {"vif": {"versioned_object.data": change}}}}})
            addresses = self.node.ovn.nbctl("--bare", "get", "Logical_Switch_Port", port, "addresses").strip(' ["]\n').split()
            for column in ("addresses", "port_security"):
                self.node.ovn.nbctl("set", "Logical_Switch_Port", port, f'{column}="{" ".join([mac, *addresses[1:]])}"')
        self.api.patch(f"{self.pods}/{runs}/status", {"status": {"podIP": self.addresses[runs][4], "podIPs": [
            {"ip": self.addresses[runs][4]}]}})
        self.controller.start()

    def wait_until_no_port_has(self, mac):
        """No pod's: the router's port says "router"."""
        self.until(f"no port with {mac}", lambda: mac not in self.node.ovn.nbctl(
            "--bare", "--columns=addresses", "list", "Logical_Switch_Port"), CLEAN_SECONDS)

    # ---- the node's chassis
    def wait_for_id(self, text):
        """Until external_ids of Open vSwitch say so."""
        self.until(text, lambda: text in self.node.ovs.vsctl("get", "Open_vSwitch", ".", "external_ids"), CLEAN_SECONDS)

    def set_machine(self, machine):
        """Once its chassis is marked so."""
        self.api.patch(f"/api/v1/nodes/{HOST_NAME}/status", {"status": {"nodeInfo": {"machineID": machine}}})
        self.wait_for_id(f"kuryr-machine={machine}")

    def record_hostname(self, name):
        """As Open vSwitch does at a machine's start, before the agent's."""
        self.node.agent.stop()
        self.node.ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:hostname={name}")
        self.node.agent.start()
        self.wait_for_id(f"hostname={HOST_NAME},")

    def reinstall(self, system_id):
        """The machine of the node is another one, whose ovn-controller says so; the former one's has not taken its leave."""
        self.set_machine(MACHINES[0])
        self.node.ovn.sync()
        self.node.ovn.kill(CONTROLLER)
        self.node.ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:system-id={system_id}")
        self.set_machine(MACHINES[1])
        self.node.ovn.start(CONTROLLER)

    def status(self):
        """What kuryr-controller's command prints for an administrator."""
        (WORK / "administrator-token").write_text(TOKEN)
        config = WORK / "administrator.conf"
        config.write_text(self.controller.config.read_text().replace("/controller-token", "/administrator-token"))
        return run(self.controller.program, "status", "--config-file", config, check=False)

    def errors(self):
        return [line for line in self.controller.log.read_text().splitlines() if "level=error" in line]
