"""kuryr-cni beside Debian's bridge, on one node in turn: how long pods take from creation to Running."""
import json
import os
import statistics
from ipaddress import ip_address, ip_network
from pathlib import Path

from harness.expectation import wait_for_none
from kubernetes.pod_story import Stories, medians

# Rounds of each plugin; they take turns to be first.
ROUNDS = 7
AT_ONCE, IN_TURN = 20, 10
WAYS = (f"{AT_ONCE} at once", f"{IN_TURN} one after another")
BRIDGE, KURYR = "Debian's bridge", "kuryr-cni"
SUBNET = ip_network("10.22.0.0/16")
NETWORK = {"cniVersion": "1.0.0", "name": "bridge", "plugins": [{
    "type": "bridge", "bridge": "cni0", "isGateway": True,
    "ipam": {"type": "host-local", "ranges": [[{"subnet": str(SUBNET)}]], "routes": [{"dst": "0.0.0.0/0"}]}}]}
# Before kuryr's by its name: containerd takes the first.
CONFLIST = Path("/etc/cni/net.d/00-bridge.conflist")
RESERVATIONS = Path("/var/lib/cni/networks", NETWORK["name"])


class Comparison:
    def __init__(self, checks):
        """checks: KubeletFacts, without pods."""
        self.checks, self.fact, self.api, self.pods = checks, checks.fact, checks.api, checks.pods
        self.controllers = checks.controller.controllers
        self.rounds = {(network, way): [] for network in (BRIDGE, KURYR) for way in WAYS}

    def go(self):
        for name in ("bridge", "host-local"):
            Path("/opt/cni/bin", name).symlink_to(f"/usr/lib/cni/{name}")
        turns = [(BRIDGE, self.turn_to_bridge), (KURYR, self.turn_to_kuryr)]
        for number in range(1, ROUNDS + 1):
            for network, turn_to in turns if number % 2 else reversed(turns):
                with self.fact(f"round {number}: {' and '.join(WAYS)}, all pods run on {network}"):
                    turn_to()
                    self.round(network)
        with self.fact("their times, side by side"):
            self.tell()

    # ---- the node's network
    def turn_to_bridge(self):
        # A cluster with this network has none; the agent has nothing to do then.
        self.controllers.scale(0)
        written = CONFLIST.with_name(".bridge")
        written.write_text(json.dumps(NETWORK))
        written.rename(CONFLIST)
        self.wait_for_network(NETWORK["name"])

    def turn_to_kuryr(self):
        CONFLIST.unlink(missing_ok=True)
        self.wait_for_network("kuryr")
        self.controllers.scale(2)
        self.controllers.wait_for_other_leader(None)

    def wait_for_network(self, name):
        cri = self.checks.cluster.node.cri
        wait_for_none(lambda: {cri.network()} - {name}, "is still the node's network")

    # ---- a round
    def round(self, network):
        self.run(network, WAYS[0], [AT_ONCE])
        self.run(network, WAYS[1], [1] * IN_TURN)

    def run(self, network, way, counts):
        """So many pods, each time when those before run."""
        pods = []
        for count in counts:
            pods += self.pods.make(count)
            self.pods.wait_for_phase(pods, "Running")
        check = {BRIDGE: self.check_bridged, KURYR: self.check_plugged}[network]
        for pod in pods:
            check(pod)
        self.rounds[network, way].append(pods)
        self.pods.delete(pods)
        self.pods.wait_until_gone(pods)
        wait_for_none(lambda: self.pods.remains() | reserved(), "left")

    def check_bridged(self, pod):
        address = self.pods.get(pod)["status"]["podIP"]
        assert ip_address(address) in SUBNET, f"{pod.name} has {address}"

    def check_plugged(self, pod):
        pod.plan = self.pods.read_plan(pod)
        self.pods.check(pod)

    # ---- what they took
    def tell(self):
        stories = Stories(self.api.audit_log, self.checks.agent_log())
        for way in WAYS:
            figures = []
            for network in (BRIDGE, KURYR):
                times = [[stories.running(pod) for pod in pods] for pods in self.rounds[network, way]]
                figures.append(statistics.median(sum(times, [])))
                each = ", ".join(f"{statistics.median(those):.2f}" for those in times)
                print(f"        {way}, {network}: {figures[-1]:.2f} s from creation to Running, median; of each round {each}")
            plugged = [stories.begin(pod) for pods in self.rounds[KURYR, way] for pod in pods]
            print(f"        {way}, {KURYR} / {BRIDGE}: {figures[1] / figures[0]:.2f}; its steps: {medians(plugged)}", flush=True)


def reserved():
    """host-local's addresses."""
    return {name for name in os.listdir(RESERVATIONS) if name[0].isdigit()} if RESERVATIONS.exists() else set()
