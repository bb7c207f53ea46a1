"""The node, its pods, the storm, and the facts that hold afterwards."""
import collections
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from agent import aftermath
from agent.client import Client, Ledger
from agent.storm import Service, Storm
from agent.storm_node import storm_node
from harness.expectation import differences, wait_for_none
from harness.kube_api import FakeApiServer, KubeApiServer, find_programs, make_certificates
from harness.namespaces import WORK
from harness.traffic import Traffic

PROGRESS_SECONDS = 10


class Scenario:
    def __init__(self, options):
        self.options = options
        self.ledger = Ledger()

    def state(self, facts):
        self.facts = facts
        with facts.fact("a node with pods that run", basis=True):
            self.make_node()
        with facts.fact("the storm comes to its end", basis=True):
            self.go_through_storm()
        self.print_table()
        aftermath.state(self)

    def make_node(self):
        self.api = self.make_api_server()
        self.node = storm_node(self.options.plugin, self.api, self.options.daemon)
        running, pairs = self.options.running, self.options.pairs
        self.all_pods = self.node.pods.make_many(running + 2 * pairs)
        print(f"{self.api.name} with {len(self.all_pods)} pods", flush=True)
        self.pods = self.all_pods[running:running + pairs]
        self.spares = collections.deque(self.all_pods[running + pairs:])
        self.running = [self.node.added(pod=pod) for pod in self.all_pods[:running]]
        self.traffic = Traffic([(made.netns_path, made.pod.plan.address) for made in self.running])
        assert self.traffic.wait_until_all_flow(), "no traffic between the pods"
        self.taps = {made.pod.plan.tap for made in self.running}
        self.rows, self.ofports = self.running_rows()
        self.census = self.take_census()
        self.pictures = [made.picture() for made in self.running]

    def take_census(self):
        """The census of an agent that has written an Event, for which it has a thread and a connection of its own."""
        made = self.node.attachment(pod=self.pods[0])
        made.add(made.conf(runtimeConfig={"mac": "0a:58:00:00:00:01"})).error(2)
        made.delete().silent()
        events = "/api/v1/namespaces/default/events"
        wait_for_none(lambda: [] if self.api.get(events)["items"] else [events], "empty")
        return self.node.agent.census()

    def make_api_server(self):
        programs, why_not = find_programs()
        if programs and not self.options.fake:
            return KubeApiServer(programs, WORK / "kubernetes")
        if why_not:
            print(why_not, flush=True)
        make_certificates(WORK / "tls")
        return FakeApiServer(WORK / "tls", WORK / "api.log")

    def go_through_storm(self):
        ovs, agent, api = self.node.ovs, self.node.agent, self.api
        self.services = [Service("kuryr-daemon", agent.start, agent.kill),
                         Service("ovs-vswitchd", ovs.start_vswitchd, ovs.stop_vswitchd),
                         Service("ovsdb-server", ovs.start_ovsdb, ovs.stop_ovsdb),
                         Service(api.name, api.start, api.kill, slow=True)]
        checks = {"kuryr-daemon": self.find_disturbance, "ovs-vswitchd": self.find_standstill,
                  "ovsdb-server": self.find_standstill_without_database}
        kills = self.options.kills or max(8, self.options.pairs // 20)
        self.storm = Storm(self.services, kills, random.Random(self.options.seed), agent.why_not_ready, checks)
        self.begin = time.monotonic()
        over = threading.Event()
        teller = threading.Thread(target=self.tell, args=(over,))
        teller.start()
        try:
            with ThreadPoolExecutor(self.options.clients) as clients:
                work = [clients.submit(self.pair, pod) for pod in self.pods]
                self.storm.run(len(self.pods))
            for each in work:
                each.result()
        finally:
            over.set()
            teller.join()

    def pair(self, pod):
        try:
            own = random.Random(f"{self.options.seed} {pod.name}")
            Client(self.node, self.ledger, self.storm, self.spares, own).pair(pod)
        finally:
            self.storm.count(self.ledger.count_pair())

    def tell(self, over):
        while not over.wait(PROGRESS_SECONDS):
            print(f"{time.monotonic() - self.begin:4.0f} s: {self.ledger.pairs} of {len(self.pods)} pairs, "
                  f"{sum(service.kills for service in self.services)} kills", flush=True)

    # ---- the pods that run
    def running_rows(self):
        """({port: its rows}, {port: its number in OpenFlow})"""
        rows = {name: row for name, row in self.node.ovs.rows_by_port().items() if name in self.taps}
        return rows, {name: row["interface"].pop("ofport") for name, row in rows.items()}

    def find_disturbance(self):
        """A difference to the pods before the storm, or None."""
        for made, before in zip(self.running, self.pictures):
            if difference := differences(before, made.picture()):
                return f"{made.pod.name}: {difference}"
        if not self.service("ovsdb-server").up:
            return None
        rows, ofports = self.running_rows()
        return differences(self.rows, rows) or differences(self.ofports, ofports)

    def find_standstill(self):
        if not self.traffic.wait_until_all_flow():
            return "pods do not reach each other"
        # A new ovs-vswitchd may give other numbers.
        self.ofports = self.running_rows()[1]
        return None

    def find_standstill_without_database(self):
        """An ovs-vswitchd that lived on is back only when it has its database again."""
        if self.service("ovs-vswitchd").up and not self.traffic.wait_until_all_flow():
            return "pods do not reach each other"
        return None

    def service(self, name):
        return next(service for service in self.services if service.name == name)

    # ---- the table
    def print_table(self):
        ledger = self.ledger
        print(f"\n{ledger.pairs} pairs by {self.options.clients} clients in {time.monotonic() - self.begin:.0f} s; killed: "
              + ", ".join(f"{service.name} {service.kills}" for service in self.services))
        for command in ("ADD", "DEL"):
            ends = sorted(((str(end), count) for (name, end), count in ledger.ends.items() if name == command))
            print(f"{command}  " + ", ".join(f"{end}: {count}" for end, count in ends)
                  + f"; the longest took {ledger.longest[command]:.1f} s")
        for (command, code, message), count in ledger.reasons.most_common(12):
            print(f"  {count:5} {command} {code}: {message}")
        print(flush=True)
