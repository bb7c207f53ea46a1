"""A cluster of kuryr-kubernetes' is taken over: its policies' security groups give way to kuryr-controller's under traffic."""
import signal
import socket
import threading
import time
from datetime import datetime

from harness.expectation import expect, expect_same
from neutron.facts_of_policies import FRIEND, POLICIES, SERVER, Policies
from neutron.network import TAG
from ovn.exchange import FAMILIES, server_in, socket_in

PORTS = {"let in": 9001, "denied": 9002}
# Few enough for the buffers of Open vSwitch's userspace datapath, which may not run for a while on a busy machine.
EVERY_SECONDS = 0.02
BEFORE_SECONDS, AFTER_SECONDS = 2, 5
QUIET_SECONDS = 1
BUFFER_BYTES = 1 << 22
PLANNER = "kuryr.openstack.org/planner"
PLANNED_BY = "kuryr-controller"
POLICY_FINALIZER = "kuryr.openstack.org/networkpolicy-finalizer"


class Stream:
    """Numbered datagrams from one pod to another, one every EVERY_SECONDS, and those that have arrived."""

    def __init__(self, source, target, family, port):
        self.times, self.arrived, self.ended = [], set(), threading.Event()
        self.server = server_in(target, family, socket.SOCK_DGRAM, port)
        self.server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        self.server.settimeout(QUIET_SECONDS)
        self.client = socket_in(source, family, socket.SOCK_DGRAM)
        self.client.connect((target.pod.plan.address(family), port))
        self.threads = [threading.Thread(target=each, daemon=True) for each in (self.receive, self.send)]
        for thread in self.threads:
            thread.start()

    def send(self):
        while not self.ended.is_set():
            self.times.append(datetime.now().time().isoformat("milliseconds"))
            self.client.send((len(self.times) - 1).to_bytes(4, "big"))
            time.sleep(EVERY_SECONDS)

    def receive(self):
        """Until nothing comes any more after the last one."""
        while True:
            try:
                self.arrived.add(int.from_bytes(self.server.recv(16), "big"))
            except TimeoutError:
                if self.ended.is_set():
                    return

    def lost(self):
        """When the datagrams were sent that have not arrived."""
        return [at for number, at in enumerate(self.times) if number not in self.arrived]

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join()
        self.server.close()
        self.client.close()


class Former:
    """What kuryr-kubernetes left: a policy, its group with rules by addresses, ports in it, and KuryrPorts of its own."""

    def __init__(self, planning, server, friend, description):
        self.planning, self.api, self.neutron = planning, planning.api, planning.neutron
        self.group = self.neutron.create("security_group", name="sg/default-taken-over", description=description)
        self.neutron.request("PUT", f"security-groups/{self.group['id']}/tags", {"tags": [TAG]})
        for rule in self.group["security_group_rules"]:
            self.neutron.delete("security_group_rule", rule["id"])
        for family in FAMILIES:
            self.add_rule(family, direction="egress")
            self.add_rule(family, direction="ingress", protocol="udp", port_range_min=PORTS["let in"], port_range_max=PORTS["let in"],
                          remote_ip_prefix=friend.pod.plan.address(family))
        self.api.request("POST", POLICIES, {
            "metadata": {"name": "taken-over", "finalizers": [POLICY_FINALIZER]},
            "spec": {"podSelector": {"matchLabels": SERVER}, "policyTypes": ["Ingress"], "ingress": [
                {"from": [{"podSelector": {"matchLabels": FRIEND}}], "ports": [{"port": PORTS["let in"], "protocol": "UDP"}]}]}})
        self.give(server, [self.group["id"]])
        self.give(friend, [planning.network.open])

    def add_rule(self, family, **what):
        self.neutron.create("security_group_rule", security_group_id=self.group["id"], ethertype=f"IPv{family}",
                            description="Kuryr-Kubernetes NetPolicy SG rule", **what)

    def give(self, made, groups):
        """The port as kuryr-kubernetes made it, and the KuryrPort without the mark of kuryr-controller."""
        port, = self.planning.ports_of(made.pod.uid)
        self.neutron.request("PUT", f"ports/{port['id']}", {"port": {"security_groups": groups, "name": f"default/{made.pod.name}"}})
        self.api.patch(path_of(made), {"metadata": {"annotations": {PLANNER: None}}})

    def is_gone(self):
        return not self.neutron.get(f"security-groups?id={self.group['id']}")["security_groups"]

    def remove(self):
        self.api.patch(f"{POLICIES}/taken-over", {"metadata": {"finalizers": None}})
        self.api.request("DELETE", f"{POLICIES}/taken-over")


def path_of(made):
    return f"/apis/openstack.org/v1/namespaces/default/kuryrports/{made.pod.name}"


def check(facts, nodes, options, server, friend):
    """server, friend: running pods of the kuryr-controller of `nodes`. options: its kuryr.conf."""
    planning = nodes.planning
    with facts.fact("takeover: kuryr-kubernetes' groups let one stream through, and not another", basis=True):
        nodes.controller.end(signal.SIGTERM)
        for made, labels in ((server, SERVER), (friend, FRIEND)):
            planning.api.patch(f"{planning.path('pods')}/{made.pod.name}", {"metadata": {"labels": labels}})
        former = Former(planning, server, friend, "Kuryr-Kubernetes Network Policy default/taken-over SG")
        wait_for_filter(planning, friend, server)
        streams = {(what, family): Stream(friend, server, family, port) for what, port in PORTS.items() for family in FAMILIES}
        time.sleep(BEFORE_SECONDS)
    with facts.fact("takeover: kuryr-controller takes the pods over, and their ports leave the groups of kuryr-kubernetes"):
        for made in (server, friend):
            planning.api.patch(path_of(made), {"metadata": {"annotations": {PLANNER: PLANNED_BY}}})
        policies = Policies(nodes, options)
        planning.wait_for("the group of kuryr-kubernetes is gone", former.is_gone)
        port, = planning.ports_of(server.pod.uid)
        expect(planning.network.open not in port["security_groups"], "the server is open")
        time.sleep(AFTER_SECONDS)
    with facts.fact("takeover: no packet was lost that policies let through, and none arrived that they deny"):
        for stream in streams.values():
            stream.end()
        for (what, family), stream in streams.items():
            print(f"  {what}, IPv{family}: {len(stream.times)} sent, {len(stream.arrived)} arrived", flush=True)
        for family in FAMILIES:
            expect_same([], streams["let in", family].lost(), "times of lost packets")
            expect_same(set(), streams["denied", family].arrived, "packets that are denied")
    with facts.fact("takeover: after the policy, the pods have the groups of kuryr.conf again"):
        former.remove()
        for made in (server, friend):
            planning.wait_for("its own groups", lambda uid=made.pod.uid: [
                port["security_groups"] for port in planning.ports_of(uid)] == [[planning.network.open]])
    policies.controller.end(signal.SIGTERM)
    nodes.controller.start()
    planning.wait_for("the former kuryr-controller leads", nodes.controller.is_ready)


def wait_for_filter(planning, friend, server):
    """Waits until one packet of the first stream has arrived, and none of the second for a while."""
    for family in FAMILIES:
        def passes(port, family=family):
            stream = Stream(friend, server, family, port)
            time.sleep(EVERY_SECONDS * 10)
            stream.end()
            return stream.arrived
        planning.wait_for("it is let in", lambda passes=passes: passes(PORTS["let in"]))
        planning.wait_for("it is denied", lambda passes=passes: not passes(PORTS["denied"]))
