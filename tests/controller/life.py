"""The lives of pods, as users and kubelets make them."""
import json
import threading
from dataclasses import dataclass

from controller.cluster import NAMESPACES, NODES
from controller.plan import FINALIZER, is_active
from harness.expectation import Failed

# A Lease that expires, an API server that starts, both at once.
WAIT_SECONDS = 100
NAMES_EACH = 2


@dataclass
class Made:
    name: str
    namespace: str
    uid: str
    planned: bool = False

    @property
    def key(self):
        return f"{self.namespace}/{self.name}"

    @property
    def path(self):
        return f"/api/v1/namespaces/{self.namespace}/pods/{self.name}"


class Ledger:
    """Pods that have lived. Thread-safe."""

    def __init__(self):
        self.lock = threading.Condition()
        self.pods = []
        self.begun = self.done = 0

    def add(self, made):
        with self.lock:
            self.pods.append(made)

    def count_done(self):
        with self.lock:
            self.done += 1
            self.lock.notify_all()

    def wait_until_done(self, count):
        """So many lives, or until a client gives up."""
        with self.lock:
            self.lock.wait_for(lambda: self.done >= count, WAIT_SECONDS)

    @property
    def planned(self):
        return {made.uid: made for made in self.pods if made.planned}


class Client:
    """One user, and the kubelets of its pods: one life after the other, often under the same name."""

    def __init__(self, number, cluster, ledger, random):
        self.number, self.cluster, self.ledger, self.random = number, cluster, ledger, random
        self.namespace = NAMESPACES[number % len(NAMESPACES)]

    def live(self):
        made = self.create(f"pod-{self.number}-{self.random.randrange(NAMES_EACH)}")
        if self.random.random() < 0.15:
            self.delete(made, grace=0)  # before anybody could run it
        else:
            self.wait_for_plan(made)
            self.random.choice((self.complete, self.end_gracefully, self.end_gracefully, self.end_by_force))(made)
        self.wait_until_gone(made)
        self.ledger.count_done()

    def create(self, name):
        label = f"{name}-{self.random.getrandbits(48):x}"
        node = self.random.choice(NODES)
        bound = self.random.random() < 0.5
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"life": label}},
               "spec": {**({"nodeName": node} if bound else {}), "containers": [{"name": "pause", "image": "pause"}]}}
        pods = f"/api/v1/namespaces/{self.namespace}/pods"
        written = self.cluster.insist_gently((409,), "POST", pods, pod) or self.cluster.insist("GET", f"{pods}/{name}")
        if written["metadata"]["labels"]["life"] != label:
            raise Failed(f"{name} is there already")
        made = Made(name, self.namespace, written["metadata"]["uid"])
        self.ledger.add(made)
        if not bound:
            self.cluster.insist_gently((409,), "POST", f"{made.path}/binding", {
                "apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": {"kind": "Node", "name": node}})
        return made

    def wait_for_plan(self, made):
        history = self.cluster.history

        def has_plan():
            pod, plan = history.pod(made.key, made.uid), history.plan(made.key, made.uid)
            return pod and plan and is_active(plan) and FINALIZER in pod["metadata"].get("finalizers", [])

        history.wait(has_plan, f"{made.key} is planned", WAIT_SECONDS)
        made.planned = True

    def set_status(self, made, phase, state):
        status = {"phase": phase, "containerStatuses": [
            {"name": "pause", "image": "pause", "imageID": "pause", "ready": "running" in state, "restartCount": 0, "state": state}]}
        self.cluster.insist_gently((404, 409), "PATCH", f"{made.path}/status", {"metadata": {"uid": made.uid}, "status": status},
                                   kind="application/merge-patch+json")

    def run(self, made):
        self.set_status(made, "Running", {"running": {}})

    def delete(self, made, grace):
        self.cluster.insist_gently((404, 409), "DELETE", made.path, {
            "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": grace, "preconditions": {"uid": made.uid}})

    def complete(self, made):
        """Its plan goes; the pod stays until somebody deletes it."""
        self.run(made)
        self.set_status(made, self.random.choice(("Succeeded", "Failed")), {"terminated": {"exitCode": 0}})
        history = self.cluster.history

        def is_released():
            pod = history.pod(made.key, made.uid)
            return pod and not history.plan(made.key, made.uid) and not pod["metadata"].get("finalizers")

        history.wait(is_released, f"{made.key}, which has completed, is released", WAIT_SECONDS)
        self.delete(made, grace=0)

    def end_gracefully(self, made):
        self.run(made)
        self.delete(made, grace=30)
        self.terminate(made)

    def end_by_force(self, made):
        """The user does not wait for the kubelet; the finalizer does."""
        self.run(made)
        self.delete(made, grace=0)
        self.terminate(made)

    def terminate(self, made):
        """As the kubelet's status manager: the containers have ended, now the pod may go."""
        self.set_status(made, "Running", {"terminated": {"exitCode": 0}})
        self.delete(made, grace=0)

    def wait_until_gone(self, made):
        history = self.cluster.history
        history.wait(lambda: not history.pod(made.key, made.uid), f"{made.key} is gone", WAIT_SECONDS)


class Foreign:
    """Plans that another producer wrote before: an annotation, and a KuryrPort, with addresses of our pool."""

    def __init__(self, cluster, vif):
        """vif(address): an os-vif object."""
        self.keys = ["default/foreign-annotation", "default/foreign-port"]
        for key, address in zip(self.keys, ("10.20.0.3", "10.20.0.4")):
            self.create(cluster, key.split("/")[1], vif(address))

    def create(self, cluster, name, vif):
        annotations = {} if name.endswith("port") else {"openstack.org/kuryr-vif": json.dumps(vif)}
        pod = cluster.insist("POST", "/api/v1/namespaces/default/pods", {
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"containers": [{"name": "pause", "image": "pause"}]}})
        if not annotations:
            cluster.insist("POST", "/apis/openstack.org/v1/namespaces/default/kuryrports", {
                "apiVersion": "openstack.org/v1", "kind": "KuryrPort",
                "metadata": {"name": name, "labels": {"kuryr.openstack.org/nodeName": "node1"}},
                "spec": {"podUid": pod["metadata"]["uid"], "podNodeName": "node1"},
                "status": {"vifs": {"eth0": {"default": True, "vif": vif}}}})
        cluster.insist("POST", f"/api/v1/namespaces/default/pods/{name}/binding", {
            "metadata": {"name": name}, "target": {"kind": "Node", "name": "node1"}})
        key, uid, history = f"default/{name}", pod["metadata"]["uid"], cluster.history
        history.wait(lambda: history.plan(key, uid) and history.pod(key, uid)["spec"].get("nodeName"), f"{name} on its node", 30)
