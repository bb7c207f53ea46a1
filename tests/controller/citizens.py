"""Those that behave well: each has a namespace with a pool of its own, and wants all of it."""
import itertools
from concurrent.futures import ThreadPoolExecutor

from controller.cluster import NODES
from controller.life import Made
from controller.plan import addresses_of
from harness.expectation import Failed, nothing

CLIENTS = 8
MORE = 2  # pods than a pool has addresses: whatever is released too early is theirs
IN_TIME_SECONDS = 60


class Citizen:
    def __init__(self, name, cluster, addresses):
        """addresses: those of its pool, in texts."""
        self.name, self.cluster, self.addresses = name, cluster, set(addresses)
        self.history = cluster.history
        self.rounds = itertools.count()
        cluster.insist_gently((409,), "POST", "/api/v1/namespaces", {"metadata": {"name": name}})

    def create_pod(self, name, annotations=None):
        pod = self.cluster.insist("POST", f"/api/v1/namespaces/{self.name}/pods", {
            "metadata": {"name": name, "annotations": annotations or {}},
            "spec": {"nodeName": NODES[0], "containers": [{"name": "pause", "image": "pause"}]}})
        return Made(name, self.name, pod["metadata"]["uid"])

    def told(self, made):
        pod = self.history.pod(made.key, made.uid) or {}
        return {each["ip"] for each in pod.get("status", {}).get("podIPs", [])}

    def wait_until_running(self, pods):
        self.history.wait(lambda: all(self.told(made) for made in pods), f"{len(pods)} pods of {self.name} run", IN_TIME_SECONDS)

    def planned(self, made):
        plan = self.history.plan(made.key, made.uid)
        return addresses_of(plan) if plan else set()

    def fill(self, without=()):
        """As many pods as the pool has addresses run, and have them all; others wait."""
        wanted = self.addresses - set(without)
        number = next(self.rounds)
        with ThreadPoolExecutor(CLIENTS) as clients:
            pods = list(clients.map(lambda index: self.create_pod(f"round-{number}-{index}"), range(len(wanted) + MORE)))
            try:
                self.history.wait(lambda: sum(bool(self.told(made)) for made in pods) >= len(wanted),
                                  f"{len(wanted)} pods of {self.name} run", IN_TIME_SECONDS)
                has = set().union(*map(self.told, pods))
                nothing(sorted(wanted - has) + sorted(has - wanted), f"addresses that pods of {self.name} lack, or should not have")
            finally:
                list(clients.map(self.delete, pods))
        self.wait_until_gone(pods)

    def delete(self, made):
        self.cluster.insist_gently((404,), "DELETE", f"{made.path}?gracePeriodSeconds=1")

    def wait_until_gone(self, pods):
        self.history.wait(lambda: not any(self.history.pod(made.key, made.uid) for made in pods), "they are gone", IN_TIME_SECONDS)

    def run_one(self, name, annotations=None):
        """A pod that runs, and its addresses."""
        made = self.create_pod(name, annotations)
        try:
            self.wait_until_running([made])
        except Failed:
            self.end(made)
            raise
        return made, self.told(made)

    def end(self, made):
        self.delete(made)
        self.wait_until_gone([made])
