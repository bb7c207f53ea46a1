"""Pods of several namespaces that policies may isolate, and the ways between them that packets find."""
import itertools
import json
import time

from harness.expectation import expect
from ovn.packets import Packets
from policies.policy_chance import LABELS, NAMESPACE_LABELS, PORT_NAME, PORTS, Pod
from policies.policy_reading import Way

NAMESPACES = ("north", "south", "east", "west")
PODS_OF_EACH = 3


def population_by_chance(dice):
    """What PolicedPods makes: ({namespace: labels}, [Pod])."""
    namespaces = {name: {key: dice.choice(values) for key, values in NAMESPACE_LABELS.items()} for name in NAMESPACES}
    pods = [Pod(namespace, f"pod-{number}", {key: dice.choice(values) for key, values in LABELS.items()},
                {(PORT_NAME, protocol): dice.choice(numbers) for protocol, numbers in PORTS.items()})
            for namespace, number in itertools.product(NAMESPACES, range(PODS_OF_EACH))]
    return namespaces, pods


class PolicedPods:
    def __init__(self, cluster, namespaces, pods, ports):
        """cluster: ControlledPods; namespaces: {name: labels}; pods: without addresses; ports: {protocol: numbers} that are tried."""
        self.cluster, self.namespaces, self.ports = cluster, namespaces, ports
        for name, labels in namespaces.items():
            cluster.api.apply(f"/api/v1/namespaces/{name}", json.dumps(
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}))
        self.pods = {f"{pod.namespace}/{pod.name}": pod for pod in pods}
        for pod, node in zip(pods, itertools.cycle(cluster.nodes)):
            pod.addresses = cluster.run_pod(pod.namespace, {"name": pod.name, "labels": pod.labels}, containers_of(pod), node)["eth0"]
        self.packets = Packets({name: (cluster.path_of(name), pod.addresses) for name, pod in self.pods.items()}, ports)
        self.ways, self.seconds = self.all_ways(), []  # that are wanted; from changes of them until packets show it

    # ---- changes
    def apply(self, change):
        method, path, body = change
        if method == "PATCH":
            self.cluster.api.patch(path, body)
        elif method == "REPLACE":
            self.cluster.api.request("PATCH", path, body, kind="application/json-patch+json")
        else:
            self.cluster.ask(method, path, body)

    # ---- ways
    def all_ways(self):
        return {Way(source, target, family, protocol, port) for source, target in itertools.permutations(self.pods, 2)
                for family in (4, 6) for protocol, ports in self.ports.items() for port in ports}

    def expect_ways(self, wanted, when="without policies"):
        """Waits until packets find the wanted ways alone."""
        started = time.monotonic()
        problem = self.cluster.wait_for({tuple(way) for way in wanted}, self.packets)
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
        for pod in self.pods.values():
            self.cluster.end_pod(pod.namespace, pod.name)


def containers_of(pod):
    """A container has a name of a port once."""
    return [{"name": "main", "image": "pause"}, *({"name": f"{name}-{protocol.lower()}", "image": "pause", "ports": [
        {"name": name, "protocol": protocol, "containerPort": number}]} for (name, protocol), number in pod.ports.items())]
