"""The node whose pods' network is broken again and again, and the facts that hold afterwards."""
import collections
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from subprocess import CalledProcessError

from agent.bystanders import Bystanders
from agent.storm import Outages
from agent.storm_node import storm_node
from agent.vandals import NodeVandal, PodVandal, addresses_of, has_address
from harness.expectation import Failed, differences, expect, nothing
from harness.kube_api import FakeApiServer, make_certificates
from harness.namespaces import WORK
from harness.traffic import Streams

BREAKERS = 8
# The agent gives up what is undone three times within a minute.
REST_SECONDS = 90
# They take a pod's port, as "port deleted" does: two of them leave one such loss of each pod.
PORT_LOSSES, MOST_LOSSES = {"bridge deleted", "database wiped", "kuryr-daemon killed, a port deleted"}, 2
BETWEEN_BREAKS_SECONDS = 0.5
BETWEEN_OUTAGES_SECONDS = (3, 8)
TRAFFIC_SECONDS = 120


class RepairScenario:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.outages = Outages()
        self.times = collections.defaultdict(list)  # kind: seconds until repaired
        self.problems = []
        self.lock = threading.Lock()
        self.resting = {}  # (kind, pod's name or ""): until when
        self.at_work = set()  # names of pods

    def state(self, facts):
        fact = facts.fact
        with fact("a node with pods that run", basis=True):
            self.make_node()
        with fact("everything that is broken is repaired within a minute"):
            self.break_things()
            nothing(self.problems, "were not")
        self.print_table()
        with fact("all pods are as planned: links, MACs, addresses, routes, ports, external_ids"):
            nothing(filter(None, map(self.difference, self.pods)), "are not")
        with fact("CHECK finds them so"):
            for made in self.pods:
                made.check().silent()
        with fact("all TCP connections between pods have lived, and carry"):
            carry = self.streams.wait_until_all_flow(TRAFFIC_SECONDS)
            self.streams.stop()
            nothing(self.streams.ended.items(), "ended")
            expect(carry, "some do not carry")
        with fact("nothing of anybody else is touched"):
            difference = self.bystanders.difference()
            expect(not difference, difference)
        with fact("no repair was given up"):
            log = (WORK / "agent.log").read_text(errors="replace").splitlines()
            nothing([line for line in log if "contested" in line or "CNIPlanFailed" in line], "were")
        with fact("DEL removes the pods, and nothing is left"):
            self.remove_pods()

    def make_node(self):
        make_certificates(WORK / "tls")
        api = FakeApiServer(WORK / "tls", WORK / "api.log")
        self.node = storm_node(self.options.plugin, api, self.options.daemon)
        self.bystanders = Bystanders(self.node)
        self.remains = self.node.remains()
        self.pods = [self.node.added(pod=pod) for pod in self.node.pods.make_many(self.options.pods)]
        for made in self.pods:
            made.second = None
        self.pictures = {made.pod.name: self.picture(made) for made in self.pods}
        self.streams = Streams([(made.netns_path, made.pod.plan.address) for made in self.pods])
        expect(self.streams.wait_until_all_flow(), "no traffic between the pods")

    # ---- the breaking
    def break_things(self):
        pod_vandal = PodVandal(self.node)
        node_vandal = NodeVandal(self.node, self.pods, self.bystanders, self.outages, self.random)
        end = time.monotonic() + self.options.seconds
        outage_due = time.monotonic() + self.random.uniform(*BETWEEN_OUTAGES_SECONDS)
        left = self.shuffled(node_vandal.kinds)
        with ThreadPoolExecutor(BREAKERS) as breakers:
            while left or time.monotonic() < end:
                if time.monotonic() > outage_due:
                    left = left or self.shuffled(node_vandal.kinds)
                    kind = left.pop()
                    if self.may_break(kind, ""):
                        self.measure(kind, "", node_vandal.kinds[kind])
                    outage_due = time.monotonic() + self.random.uniform(*BETWEEN_OUTAGES_SECONDS)
                kind, made = self.random.choice(list(pod_vandal.kinds)), self.random.choice(self.pods)
                if made.pod.name not in self.at_work and self.may_break(kind, made.pod.name):
                    self.at_work.add(made.pod.name)
                    breakers.submit(self.measure, kind, made.pod.name, pod_vandal.kinds[kind], made)
                time.sleep(self.random.random() * 2 * BETWEEN_BREAKS_SECONDS)

    def shuffled(self, kinds):
        return self.random.sample(list(kinds), len(kinds))

    def may_break(self, kind, name):
        now = time.monotonic()
        if self.resting.get((kind, name), now) > now:
            return False
        if kind in PORT_LOSSES and sum(self.resting.get((each, ""), now) > now for each in PORT_LOSSES) >= MOST_LOSSES:
            return False
        self.resting[kind, name] = now + REST_SECONDS
        return True

    def measure(self, kind, name, act, *arguments):
        begin = time.monotonic()
        try:
            act(*arguments)
            end = time.monotonic()
            beside = bool(name) and bool(self.outages.during(begin, end))
            self.times[kind, "beside an outage" if beside else ""].append(end - begin)
        except (Failed, CalledProcessError, OSError) as error:
            self.problems.append(f"{kind} {name}: {getattr(error, 'stderr', '') or error}")
        finally:
            self.at_work.discard(name)

    def print_table(self):
        print(f"        {'broken':36} {'':16} times   p50 s   p99 s   most")
        for (kind, beside), times in sorted(self.times.items()):
            times.sort()
            p50, p99 = (times[min(len(times) - 1, int(len(times) * share))] for share in (0.5, 0.99))
            print(f"        {kind:36} {beside:16} {len(times):5} {p50:7.2f} {p99:7.2f} {times[-1]:6.2f}")

    # ---- what has to be
    def picture(self, made):
        """The pod's first interface, and its rows."""
        rows = self.node.ovs.rows_by_port().get(made.pod.plan.tap, {})
        for row in (rows.get("interface", {}), rows.get("port", {})):
            for volatile in ("_uuid", "ofport"):
                row.pop(volatile, None)
        if rows.get("port", {}).get("qos"):
            rows["port"]["qos"] = self.shaping(made.pod.plan.tap)
        picture = made.picture()
        picture.pop("record")
        picture["inside"] = [link for link in picture["inside"] if link["ifname"] != "net1"]
        for link in picture["inside"]:
            link.pop("addresses")
        return {**picture, "rows": rows}

    def shaping(self, port):
        """The type of the port's QoS row, which a repaired port has anew."""
        return self.node.ovs.vsctl("get", "QoS", self.node.ovs.vsctl("get", "Port", port, "qos").strip(), "type").strip()

    def difference(self, made):
        """What is not as planned; empty when nothing is."""
        name, found = made.pod.name, differences(self.pictures[made.pod.name], self.picture(made))
        if made.addresses() != addresses_of(made.pod.plan):
            found += f"; has {made.addresses()}, planned {addresses_of(made.pod.plan)}"
        second = made.link("net1")
        if bool(second) != bool(made.second):
            found += "; net1 is there" if second else "; net1 is not there"
        elif second and not (has_address(made, "net1", made.second.cidr) and self.node.ovs.has(made.second.tap)):
            found += "; net1 is not as planned"
        return f"{name}: {found}" if found else ""

    def remove_pods(self):
        for made in self.pods:
            made.delete().silent()
        self.node.expect_only(self.remains)
