"""The nodes' part in a cluster that has none: what kubelets, and the scheduler, write of pods."""
import contextlib
import heapq
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from controller.cluster import NODES
from controller.history import PODS, PORTS
from controller.plan import counts, is_active, main_addresses, try_plan
from harness.kube_api import MERGE_PATCH

WRITERS = 8
SCHEDULER = "default-scheduler"
SUCCEEDS, LONG = "succeeds", "long"  # labels of pods that complete, and of those that take long to end
MOST_ENDING_SECONDS = 3


class Nodes(threading.Thread):
    """A pod with an active plan runs with its addresses, whatever becomes of the plan. A deleted one ends when its containers
    have: after some seconds, and where it has `long` as label, not before end_all(). Thread-safe."""

    def __init__(self, cluster, sink, random, believe=lambda name_space, plan: True):
        """believe(namespace, plan): whether a node makes the plan true."""
        super().__init__(daemon=True)
        self.cluster, self.history, self.sink, self.random, self.believe = cluster, cluster.history, sink, random, believe
        self.seen = 0
        self.begun, self.ending, self.due, self.held = set(), set(), [], []
        self.all_end = False
        self.writers = ThreadPoolExecutor(WRITERS)
        self.failures = []
        self.start()

    def run(self):
        while not self.history.broken:
            with self.history.changed:
                self.history.changed.wait_for(self.has_work, self.until_next_end())
                news = self.history.changes[self.seen:]
                self.seen += len(news)
            for key in dict.fromkeys(change.key for change in news if change.kind in (PODS, PORTS)):
                with contextlib.suppress(KeyError):  # the pod is gone
                    self.look_at(key, self.history.present[PODS][key])
            if self.all_end:
                while self.held:
                    self.end_soon(*self.held.pop())
            while self.due and self.due[0][0] <= time.monotonic():
                self.write(self.end, *heapq.heappop(self.due)[1:])

    def end_all(self):
        with self.history.changed:
            self.all_end = True
            self.history.changed.notify_all()

    def has_work(self):
        return len(self.history.changes) > self.seen or self.history.broken or (self.all_end and self.held)

    def until_next_end(self):
        return max(0, self.due[0][0] - time.monotonic()) if self.due else None

    def look_at(self, key, pod):
        uid = pod["metadata"]["uid"]
        if "deletionTimestamp" in pod["metadata"]:
            if uid not in self.ending:
                self.ending.add(uid)
                if LONG in pod["metadata"].get("labels", {}) and uid in self.begun:
                    self.held.append((key, uid))
                else:
                    self.end_soon(key, uid)
        elif not pod["spec"].get("nodeName"):
            if pod["spec"]["schedulerName"] == SCHEDULER and ("bound", uid) not in self.begun:
                self.begun.add(("bound", uid))
                self.write(self.bind, key, uid)
        elif uid not in self.begun and (plan := self.plan(key, pod)) and is_active(plan) and self.believe(key.split("/")[0], plan):
            self.begun.add(uid)
            self.write(self.begin, key, uid, plan, SUCCEEDS in pod["metadata"].get("labels", {}))

    def end_soon(self, key, uid):
        seconds = self.random.uniform(0, MOST_ENDING_SECONDS) if uid in self.begun else 0
        heapq.heappush(self.due, (time.monotonic() + seconds, key, uid))

    def plan(self, key, pod):
        """Where its node looks for it: vif_source = kuryrport, where that is the sink."""
        if self.sink != "kuryrport":
            return try_plan(pod)
        port = self.history.present[PORTS].get(key)
        return try_plan(port) if port and counts(port, pod) else None

    def write(self, function, *arguments):
        self.writers.submit(function, *arguments).add_done_callback(self.note_failure)

    def note_failure(self, written):
        if written.exception():
            self.failures.append(str(written.exception()))

    # ---- by writers
    def bind(self, key, uid):
        name_space, name = key.split("/")
        self.cluster.insist_gently((404, 409), "POST", f"{_path(key)}/binding", {
            "metadata": {"name": name, "namespace": name_space, "uid": uid},
            "target": {"kind": "Node", "name": NODES[int(uid[:8], 16) % len(NODES)]}})

    def begin(self, key, uid, plan, succeeds):
        addresses = main_addresses(plan)
        self.set_status(key, uid, {"running": {}}, {"phase": "Running", "podIP": addresses[0],
                                                    "podIPs": [{"ip": address} for address in addresses]})
        if succeeds:
            self.set_status(key, uid, {"terminated": {"exitCode": 0}}, {"phase": "Succeeded"})

    def end(self, key, uid):
        self.set_status(key, uid, {"terminated": {"exitCode": 0}}, {})
        self.cluster.insist_gently((404, 409), "DELETE", _path(key), {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0, "preconditions": {"uid": uid}})

    def set_status(self, key, uid, state, status):
        containers = [{"name": "pause", "image": "pause", "imageID": "pause", "ready": "running" in state, "restartCount": 0,
                       "state": state}]
        # 422: another pod has the name.
        self.cluster.insist_gently((404, 409, 422), "PATCH", f"{_path(key)}/status", {
            "metadata": {"uid": uid}, "status": {**status, "containerStatuses": containers}}, kind=MERGE_PATCH)


def _path(key):
    name_space, name = key.split("/")
    return f"/api/v1/namespaces/{name_space}/pods/{name}"
