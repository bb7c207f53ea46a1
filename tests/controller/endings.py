"""Namespaces that end while their pods still run for a while; pods whose plans somebody takes away; and pods that wait for addresses
all the time."""
import random
import signal
from concurrent.futures import ThreadPoolExecutor

from controller import judgement
from controller.cluster import Cluster
from controller.controllers import Controllers
from controller.history import NAMESPACES, PODS, PORTS
from controller.holding import find_shared
from controller.keeping import keep_logs
from controller.life import Made
from controller.manager import Manager, programs_with_manager
from controller.nodes import LONG, Nodes
from controller.plan import FINALIZER, addresses_of
from controller.quota import allow_ports, forbid_ports
from controller.storm import Storm
from harness.expectation import nothing, wait_for_none
from harness.kube_api import MERGE_PATCH
from harness.pod import ANNOTATION

CLIENTS = 16
SPARE = 4  # addresses that nobody has
LATE = 20  # pods that come when no address is left
GRACE_SECONDS = 600
ENDING, NEWCOMERS, LATECOMERS, AFTER_LATECOMERS = "ending", "newcomers", "latecomers", "after-latecomers"


class Endings:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.wait_seconds = 60 + options.pods // 4

    def state(self, facts):
        print(f"seed {self.options.seed}", flush=True)
        try:
            with facts.fact(f"{self.options.pods} pods of {self.options.namespaces} namespaces run", basis=True):
                self.make_cluster()
                self.old = self.create_pods([f"{ENDING}-{number}" for number in range(self.options.namespaces)], self.options.pods)
                self.wait_until_running(self.old)
            self.state_of_namespaces(facts)
            self.state_of_lost_plans(facts)
            with facts.fact("no controller ended by itself, and nodes could write all they had to tell"):
                self.controllers.look_for_crashes()
                nothing([*self.controllers.crashes, *self.nodes.failures], "failures")
        finally:
            if self.options.logs:
                keep_logs(self.options.logs, getattr(self, "history", None))

    def make_cluster(self):
        programs = programs_with_manager()
        self.cluster = Cluster(programs)
        self.api, self.history = self.cluster.api, self.cluster.history
        self.manager = Manager(programs, self.api)
        self.nodes = Nodes(self.cluster, self.options.sink, random.Random(self.options.seed))
        last = self.options.pods + SPARE + 255
        pool = (f"[controller]\nbackend = local\n[pool:pods]\ncidr = 10.40.0.0/16\n"
                f"ranges = 10.40.1.0-10.40.{last >> 8}.{last & 255}\nnamespaces = *\nrest = 1\n")
        self.controllers = Controllers(self.options.controllers, self.options.controller, self.api, self.options.sink, pool)
        self.storm = Storm(self.cluster, self.controllers, self.random, 0, 0)

    # ---- pods
    def create_pods(self, namespaces, count):
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda name: self.cluster.insist("POST", "/api/v1/namespaces", {"metadata": {"name": name}}), namespaces))
            return list(clients.map(lambda number: self.create_pod(f"pod-{number}", namespaces[number % len(namespaces)]), range(count)))

    def create_pod(self, name, namespace):
        pod = self.cluster.insist("POST", f"/api/v1/namespaces/{namespace}/pods", {
            "metadata": {"name": name, "labels": {LONG: ""} if namespace.startswith(ENDING) else {}},
            "spec": {"terminationGracePeriodSeconds": GRACE_SECONDS, "containers": [{"name": "pause", "image": "pause"}]}})
        return Made(name, namespace, pod["metadata"]["uid"])

    def told(self, made):
        """The addresses that its status names."""
        pod = self.history.pod(made.key, made.uid) or {}
        return {each["ip"] for each in pod.get("status", {}).get("podIPs", [])}

    def wait_until_running(self, pods):
        self.history.wait(lambda: all(self.told(made) for made in pods), f"{len(pods)} pods run", self.wait_seconds)

    def is_being_deleted(self, made):
        """With its KuryrPort, where it had one."""
        pod, port = self.history.pod(made.key, made.uid), self.history.present[PORTS].get(made.key)
        return all(each is None or "deletionTimestamp" in each["metadata"] for each in (pod, port))

    # ---- namespaces
    def state_of_namespaces(self, facts):
        with facts.fact("they are deleted at once, the leader changes twice meanwhile, and pods that wait get all addresses at last"):
            self.delete_namespaces({made.namespace for made in self.old})
            self.history.wait(lambda: all(map(self.is_being_deleted, self.old)), "all is being deleted", self.wait_seconds)
            self.new = self.create_pods([NEWCOMERS], self.options.pods + SPARE)
            self.storm.change_leader()
            self.storm.change_leader(signal.SIGKILL)
            self.nodes.end_all()
            self.wait_until_running(self.new)
        with facts.fact("no address of a pod that still ended was given to another one"):
            nothing(find_shared(self.history.changes, self.options.sink), "given away")
        with facts.fact("the namespaces end, and nothing of theirs is left"):
            self.wait_until_ended({made.namespace for made in self.old})

    def delete_namespaces(self, names):
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda name: self.cluster.insist_gently((404, 409), "DELETE", f"/api/v1/namespaces/{name}"), names))

    def wait_until_ended(self, names):
        """What a namespace's pods have left of their grace period decides when the manager looks at it again, or a change does."""
        present = self.history.present
        left = [made for made in self.old + getattr(self, "new", []) if made.namespace in names]
        self.history.wait(lambda: not any(self.history.pod(made.key, made.uid) for made in left), "their pods are gone", self.wait_seconds)
        for name in names:
            self.cluster.insist_gently((404,), "PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"look": "again"}}},
                                       kind=MERGE_PATCH)
        self.history.wait(lambda: not names & set(present[NAMESPACES]), "the namespaces are gone", self.wait_seconds)
        nothing([key for kind in (PODS, PORTS) for key in present[kind] if key.split("/")[0] in names], "left")

    # ---- plans that are taken away
    def state_of_lost_plans(self, facts):
        with facts.fact("pods that come when no address is left wait"):
            self.has = {made.uid: self.told(made) for made in self.new}
            self.late = self.create_pods([LATECOMERS], LATE)
            self.wait_until_told_or_planned()
            nothing(filter(self.planned, self.late), "planned")
        with facts.fact("plans of pods that run are taken away, and may not be written again: who waits gets none of their addresses"):
            since = self.history.changes[-1].revision
            if self.options.sink == "kuryrport":
                forbid_ports(self.cluster, NEWCOMERS)
            self.take_plans_away()
            self.storm.change_leader()
            self.late += self.create_pods([AFTER_LATECOMERS], 1)
            self.wait_until_told_or_planned()
            nothing(find_shared(self.history.changes, self.options.sink, since), "given away")
        with facts.fact("plans are taken away while no controller runs: each pod gets one with the addresses that it has"):
            since = self.history.changes[-1].revision
            self.controllers.stop()
            if self.options.sink == "kuryrport":
                allow_ports(self.cluster, NEWCOMERS)
            self.take_plans_away(forcibly=True)
            for controller in self.controllers.all:
                controller.start()
            self.history.wait(lambda: all(map(self.has_plan, self.new)) or any(map(self.planned, self.late)),
                              "each has a plan again", self.wait_seconds)
            nothing(find_shared(self.history.changes, self.options.sink, since), "given away")
            nothing([made.key for made in self.new if self.has_another(made)], "with other addresses")
        with facts.fact("all is deleted: nothing is left, and every address is free"):
            self.delete_namespaces({NEWCOMERS, LATECOMERS, AFTER_LATECOMERS})
            wait_for_none(lambda: judgement.find_left(self.history.present, ()), "left", self.wait_seconds)
            wait_for_none(lambda: [name for name, value in (self.controllers.addresses() or {"none leads": 1}).items()
                                   if value and 'state="free"' not in name and "limit" not in name], "not free", self.wait_seconds)

    def take_plans_away(self, forcibly=False):
        """As `kubectl delete kuryrports --all` does, or `kubectl annotate`. forcibly: finalizers do not hold them."""
        ports = f"/apis/openstack.org/v1/namespaces/{NEWCOMERS}/kuryrports"
        if self.options.sink != "kuryrport":
            with ThreadPoolExecutor(CLIENTS) as clients:
                list(clients.map(lambda made: self.cluster.insist("PATCH", made.path, {"metadata": {"annotations": {ANNOTATION: None}}},
                                                                  kind=MERGE_PATCH), self.new))
            return
        self.cluster.insist("DELETE", ports)
        if forcibly:
            for port in self.cluster.insist("GET", ports)["items"]:
                self.cluster.insist_gently((404,), "PATCH", f"{ports}/{port['metadata']['name']}", {"metadata": {"finalizers": None}},
                                           kind=MERGE_PATCH)
            self.history.wait(lambda: not any(made.key in self.history.present[PORTS] for made in self.new), "no KuryrPort is left",
                              self.wait_seconds)

    def planned(self, made):
        plan = self.history.plan(made.key, made.uid)
        return addresses_of(plan) if plan else set()

    def has_another(self, made):
        return self.planned(made) - self.has[made.uid]

    def has_plan(self, made):
        pod = self.history.pod(made.key, made.uid)
        return pod and FINALIZER in pod["metadata"].get("finalizers", []) and self.planned(made)

    def wait_until_told_or_planned(self):
        """There is no address for them: whoever leads says so, unless it gives one."""
        def waiting():
            events = self.cluster.insist("GET", "/api/v1/events?fieldSelector=reason%3DKuryrNoFreeAddress")["items"]
            told = {event["involvedObject"]["uid"] for event in events}
            return [made.key for made in self.late if made.uid not in told and not self.planned(made)]

        wait_for_none(waiting, "neither planned nor told why not", self.wait_seconds)
