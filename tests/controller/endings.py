"""Namespaces that end while their pods still run for a while, and pods that wait for their addresses."""
import random
import signal
from concurrent.futures import ThreadPoolExecutor

from controller.cluster import Cluster
from controller.controllers import Controllers
from controller.history import NAMESPACES, PODS, PORTS
from controller.holding import find_shared
from controller.life import Made
from controller.lost_plans import LostPlans
from controller.manager import Manager, programs_with_manager
from controller.neutron_stand_in import NeutronStandIn
from controller.nodes import LONG, Nodes
from controller.storm import Storm
from harness.expectation import nothing, wait_for_none
from harness.kube_api import MERGE_PATCH
from kubernetes.release import Release

CLIENTS = 16
SPARE = 4  # addresses that nobody has
GRACE_SECONDS = 600
ENDING, NEWCOMERS = "ending", "newcomers"


class Endings:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.wait_seconds = 60 + options.pods // 4

    def state(self, facts):
        with facts.fact(f"{self.options.pods} pods of {self.options.namespaces} namespaces run", basis=True):
            self.make_cluster()
            self.old = self.create_pods([f"{ENDING}-{number}" for number in range(self.options.namespaces)], self.options.pods)
            self.wait_until_running(self.old)
        self.state_of_namespaces(facts)
        if self.neutron:
            with facts.fact("Neutron has the ports of the pods that run, and no others"):
                wait_for_none(lambda: set(self.neutron.owners()) ^ {made.uid for made in self.new}, "ports of others", self.wait_seconds)
        else:
            LostPlans(self).state(facts)
        with facts.fact("no controller ended by itself, and nodes could write all they had to tell"):
            self.controllers.look_for_crashes()
            nothing([*self.controllers.crashes, *self.nodes.failures], "failures")

    def make_cluster(self):
        programs = programs_with_manager()
        self.release, self.cluster = Release(programs), Cluster(programs)
        self.api, self.history = self.cluster.api, self.cluster.history
        self.manager = Manager(programs, self.api)
        self.nodes = Nodes(self.cluster, self.options.sink, random.Random(self.options.seed))
        self.neutron = NeutronStandIn(self.options.pods + SPARE) if self.options.backend == "neutron" else None
        backend = self.neutron.options if self.neutron else self.pool()
        self.controllers = Controllers(self.options.controllers, self.options.controller, self.api, self.options.sink, backend)
        self.storm = Storm(self.cluster, self.controllers, self.random, 0, 0)

    def pool(self):
        last = self.options.pods + SPARE + 255
        return (f"[controller]\nbackend = local\n[pool:pods]\ncidr = 10.40.0.0/16\n"
                f"ranges = 10.40.1.0-10.40.{last >> 8}.{last & 255}\nnamespaces = *\nrest = 1\n")

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
        """With its KuryrPort, where it had one that goes at the same time."""
        pod, port = self.history.pod(made.key, made.uid), self.history.present[PORTS].get(made.key)
        objects = (pod,) if self.release.ends_pods_first else (pod, port)
        return all(each is None or "deletionTimestamp" in each["metadata"] for each in objects)

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
        """The manager looks at a namespace again when the pods' grace period is over, or at a change."""
        present = self.history.present
        self.history.wait(lambda: not any(self.history.pod(made.key, made.uid) for made in self.old), "their pods are gone",
                          self.wait_seconds)
        for name in names:
            self.cluster.insist_gently((404,), "PATCH", f"/api/v1/namespaces/{name}", {"metadata": {"labels": {"look": "again"}}},
                                       kind=MERGE_PATCH)
        self.history.wait(lambda: not names & set(present[NAMESPACES]), "the namespaces are gone", self.wait_seconds)
        nothing([key for kind in (PODS, PORTS) for key in list(present[kind]) if key.split("/")[0] in names], "left")
