"""Pods that kuryr-controller plans on OVN, and the ways between them that packets find."""
import itertools
import random
import signal
import time

from harness.expectation import expect
from ovn.admin_chance import DEFINITIONS, KINDS, PATH, definition
from ovn.central import EVENT_SECONDS, NORTHBOUND
from ovn.controlled_pods import ControlledPods
from ovn.packets import Packets
from ovn.policy_chance import LABELS, NAMESPACE_LABELS, PORT_NAME, PORTS, Pod
from ovn.policy_reading import Way

NAMESPACES = ("north", "south", "east", "west")
PODS_OF_EACH = 3
BACKEND = f"""[controller]
backend = ovn
leader_elect = false
[ovn]
nb_connection = {NORTHBOUND}
[pool:pods]
cidr = 10.44.0.0/24, fd00:44::/64
gateway = none
default = true
rest = 1
"""
AGAIN_SECONDS = 0.05


def define(cluster):
    for plural in KINDS:
        cluster.insist("POST", DEFINITIONS, definition(plural))
    for plural in KINDS:
        cluster.api.wait_for(f"{PATH}/{plural}")


class PolicedPods(ControlledPods):
    def __init__(self, chosen):
        """chosen: the launcher's options."""
        super().__init__(chosen, BACKEND, define)
        dice = random.Random(chosen.seed)
        self.namespaces = {name: self.make_namespace(name, dice) for name in NAMESPACES}
        self.pods = {}
        for namespace, number in itertools.product(NAMESPACES, range(PODS_OF_EACH)):
            self.add_pod(namespace, f"pod-{number}", dice)
        self.packets = Packets({name: (self.sandboxes[name].netns_path, pod.addresses) for name, pod in self.pods.items()}, PORTS)

    def make_namespace(self, name, dice):
        labels = {key: dice.choice(values) for key, values in NAMESPACE_LABELS.items()}
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        return labels

    def add_pod(self, namespace, name, dice):
        labels = {key: dice.choice(values) for key, values in LABELS.items()}
        ports = {(PORT_NAME, protocol): dice.choice(numbers) for protocol, numbers in PORTS.items()}
        # A container has a name of a port once.
        containers = [{"name": protocol.lower(), "image": "pause", "ports": [
            {"name": each, "protocol": protocol, "containerPort": number}]} for (each, protocol), number in ports.items()]
        addresses = self.run_pod(namespace, {"name": name, "labels": labels}, containers)["eth0"]
        self.pods[f"{namespace}/{name}"] = Pod(namespace, name, labels, ports, addresses)

    # ---- changes
    def apply(self, change):
        method, path, body = change
        if method == "PATCH":
            self.api.patch(path, body)
        elif method == "REPLACE":
            self.api.request("PATCH", path, body, kind="application/json-patch+json")
        else:
            self.ask(method, path, body)

    def kill_controller(self):
        self.controller.end(signal.SIGKILL)
        self.controller.start()

    # ---- ways
    def all_ways(self):
        return {Way(source, target, family, protocol, port) for source, target in itertools.permutations(self.pods, 2)
                for family in (4, 6) for protocol, ports in PORTS.items() for port in ports}

    def wait_for(self, wanted):
        return super().wait_for({tuple(way) for way in wanted}, self.packets)

    def count_flows(self):
        """The node's OpenFlow flows for what the northbound database says."""
        self.node.ovn.sync()
        ovs = self.node.ovs
        return len(ovs.host.run("ovs-ofctl", "dump-flows", f"{ovs.folder}/{ovs.bridge}.mgmt").splitlines())

    def wait_for_allowing_row(self):
        deadline = time.monotonic() + EVENT_SECONDS
        while not self.node.ovn.nbctl("--bare", "--columns=_uuid", "find", "ACL", "priority=1001"):
            expect(time.monotonic() < deadline, "no rule is in the northbound database")
            time.sleep(AGAIN_SECONDS)

    # ---- the end
    def remove(self):
        self.packets.close()
        for name, sandbox in self.sandboxes.items():
            sandbox.delete().silent()
            namespace, pod = name.split("/")
            self.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}?gracePeriodSeconds=0")

    def rows_left(self):
        """Rows of pods and policies, once no pod has one; what is left after a while."""
        deadline = time.monotonic() + EVENT_SECONDS
        while True:
            left = [self.node.ovn.nbctl("--bare", "--columns=external_ids", "list", table)
                    for table in ("Logical_Switch_Port", "Port_Group", "ACL")]
            if not "".join(left).strip() or time.monotonic() > deadline:
                return "".join(left).strip()
            time.sleep(AGAIN_SECONDS)

    def print_times(self):
        ordered = sorted(self.seconds)
        expect(ordered, "nothing was tried")
        print(f"from a change until packets show it: p50 {ordered[len(ordered) // 2]:.2f} s, most {ordered[-1]:.2f} s, with a look of "
              f"{min(ordered):.2f} s", flush=True)
