"""Pods of several namespaces that policies may isolate, and the ways between them that packets find."""
import itertools
import random
import signal
import time

from harness.expectation import expect
from ovn.controlled_pods import ControlledPods
from ovn.packets import Packets
from ovn.policy_chance import LABELS, NAMESPACE_LABELS, PORT_NAME, PORTS, Pod
from ovn.policy_reading import Way

NAMESPACES = ("north", "south", "east", "west")
PODS_OF_EACH = 3


class PolicedPods(ControlledPods):
    def __init__(self, chosen, node, backend, **options):
        """ControlledPods' options; the launcher's have a seed."""
        super().__init__(chosen, node, backend, **options)
        dice = random.Random(chosen.seed)
        self.namespaces = {name: self.make_namespace(name, dice) for name in NAMESPACES}
        self.pods = {}
        for namespace, number in itertools.product(NAMESPACES, range(PODS_OF_EACH)):
            self.add_pod(namespace, f"pod-{number}", dice)
        self.packets = Packets({name: (self.sandboxes[name].netns_path, pod.addresses) for name, pod in self.pods.items()}, PORTS)
        self.ways, self.seconds = self.all_ways(), []  # that are wanted; from changes of them until packets show it

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

    def expect_ways(self, wanted, when="without policies"):
        """Waits until packets find the wanted ways alone."""
        started = time.monotonic()
        problem = self.wait_for({tuple(way) for way in wanted}, self.packets)
        expect(not problem, f"{when}: {problem}")
        if wanted != self.ways:
            self.ways = wanted
            self.seconds.append(time.monotonic() - started)

    def times(self):
        """In words."""
        ordered = sorted(self.seconds)
        expect(ordered, "no change was seen")
        return (f"from a change until packets show it: p50 {ordered[len(ordered) // 2]:.2f} s, most {ordered[-1]:.2f} s, with a look of "
                f"{ordered[0]:.2f} s")

    # ---- the end
    def remove(self):
        self.packets.close()
        for name, sandbox in self.sandboxes.items():
            sandbox.delete().silent()
            namespace, pod = name.split("/")
            self.ask("DELETE", f"/api/v1/namespaces/{namespace}/pods/{pod}?gracePeriodSeconds=0")
