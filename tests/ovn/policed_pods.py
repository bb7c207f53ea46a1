"""Pods that kuryr-controller plans on OVN, and the ways between them that packets find."""
import itertools
import json
import random
import signal
import time

from controller.cluster import Cluster
from controller.controllers import Controller
from harness.expectation import expect
from harness.kube_api import find_programs
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.planned_pods import PlannedPods
from harness.pod import Pod as Sandbox
from harness.report import Skipped
from ovn.admin_chance import DEFINITIONS, KINDS, PATH, definition
from ovn.central import EVENT_SECONDS, HOST_NAME, NORTHBOUND
from ovn.node import make_node
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
STALE_SECONDS = 5


class PolicedPods:
    def __init__(self, chosen):
        """chosen: the launcher's options."""
        programs, why = find_programs()
        if not programs:
            raise Skipped(why)
        self.node = make_node(chosen.plugin, chosen.daemon)
        self.node.agent.kill()
        cluster = Cluster(programs)
        self.api = cluster.api
        for plural in KINDS:
            cluster.insist("POST", DEFINITIONS, definition(plural))
        for plural in KINDS:
            self.api.wait_for(f"{PATH}/{plural}")
        self.controller = Controller(0, chosen.controller, self.api, "kuryrport", BACKEND)
        pods = PlannedPods(self.api)
        kuryr = Kuryr(pods, cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": EVENT_SECONDS})
        self.node.give(pods=pods, kuryr=kuryr, agent=KuryrDaemon(chosen.daemon, kuryr.usual_conf))
        self.node.agent.start()
        dice = random.Random(chosen.seed)
        self.namespaces = {name: self.make_namespace(name, dice) for name in NAMESPACES}
        self.pods, self.sandboxes, self.seconds = {}, {}, []
        for namespace, number in itertools.product(NAMESPACES, range(PODS_OF_EACH)):
            self.run_pod(namespace, f"pod-{number}", dice)
        self.packets = Packets({name: (self.sandboxes[name].netns_path, pod.addresses) for name, pod in self.pods.items()}, PORTS)

    def make_namespace(self, name, dice):
        labels = {key: dice.choice(values) for key, values in NAMESPACE_LABELS.items()}
        self.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})
        return labels

    def ask(self, method, path, body=None):
        return json.loads(self.api.request(method, path, body))

    def run_pod(self, namespace, name, dice):
        labels = {key: dice.choice(values) for key, values in LABELS.items()}
        ports = {(PORT_NAME, protocol): dice.choice(numbers) for protocol, numbers in PORTS.items()}
        # A container has a name of a port once.
        containers = [{"name": protocol.lower(), "image": "pause", "ports": [
            {"name": each, "protocol": protocol, "containerPort": number}]} for (each, protocol), number in ports.items()]
        made = self.ask("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": {"name": name, "labels": labels}, "spec": {"nodeName": HOST_NAME, "containers": containers}})
        sandbox = self.node.attachment(pod=Sandbox(name, made["metadata"]["uid"], namespace=namespace),
                                       conf={"kuryr_conf": self.node.kuryr.usual_conf})
        addresses = [each["address"].split("/")[0] for each in sandbox.add().result()["ips"]]
        key = f"{namespace}/{name}"
        self.sandboxes[key] = sandbox
        self.pods[key] = Pod(namespace, name, labels, ports, {6 if ":" in each else 4: each for each in addresses})

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
        """Waits until packets find the wanted ways alone. What differs in the end; "" for nothing."""
        started = time.monotonic()
        while True:
            found = {Way(*way) for way in self.packets.try_all({tuple(way) for way in wanted})}
            if found == wanted:
                self.seconds.append(time.monotonic() - started)
                return ""
            if time.monotonic() - started > STALE_SECONDS:
                # Open vSwitch 3.1.0 may keep an outdated flow of the userspace datapath while packets use it.
                self.node.ovs.forget_flows()
            if time.monotonic() - started > EVENT_SECONDS:
                return f"open and should not: {sorted(found - wanted)}; closed and should not: {sorted(wanted - found)}"

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
