"""A Deployment of namespace default, whose pods do nothing."""
from harness.kube_api import PODS
from kubernetes.controllers import is_rolled_out
from kubernetes.node_pods import PORT_LIST, SPEC, NodePod

PATH = "/apis/apps/v1/namespaces/default/deployments"


class Deployment:
    def __init__(self, pods, name, replicas):
        """pods: NodePods"""
        self.pods, self.api, self.name, self.replicas = pods, pods.api, name, replicas

    def create(self):
        labels = {"app": self.name}
        self.api.request("POST", PATH, {
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": self.name},
            "spec": {"replicas": self.replicas, "selector": {"matchLabels": labels},
                     "template": {"metadata": {"labels": labels}, "spec": SPEC}}})

    def delete(self):
        self.api.request("DELETE", f"{PATH}/{self.name}", {"propagationPolicy": "Background"})

    def delete_pods(self):
        """Deletes its pods; the Deployment makes others."""
        self.api.request("DELETE", f"{PODS}?labelSelector=app%3D{self.name}")

    def of(self, found, but=()):
        """{name: object}, of objects that have its pods' names, without those."""
        return {name: each for (_, name), each in found.items() if name.startswith(f"{self.name}-") and name not in but}

    def names(self):
        """The names of its pods."""
        return set(self.of({("default", each["metadata"]["name"]): each for each in self.api.get(PODS)["items"]}))

    def wait_until_run(self, but=()):
        """Its pods, without those of these names."""
        running = {}

        def all_run(found):
            running.clear()
            running.update((name, pod) for name, pod in self.of(found, but).items() if pod["status"]["phase"] == "Running")
            return len(running) == self.replicas
        self.api.wait("they run", all_run, PODS)
        self.api.wait("they are available", lambda found: is_rolled_out(found["default", self.name], self.replicas), PATH)
        pods = [NodePod(name, pod["metadata"]["uid"]) for name, pod in running.items()]
        for pod in pods:
            pod.plan = self.pods.read_plan(pod)
        return pods

    def wait_until_gone(self, but=()):
        """Its pods and their KuryrPorts, without those of these names."""
        for path in (PODS, PORT_LIST):
            self.api.wait("they are gone", lambda found: not self.of(found, but), path)
