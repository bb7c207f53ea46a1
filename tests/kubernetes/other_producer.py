"""Pods that another producer plans on a cluster with kuryr-controller, by KuryrPorts."""
from harness.kube_api import PODS
from harness.pod import Plan
from kubernetes.node_pods import PORT_LIST


class OtherProducer:
    def __init__(self, pods):
        """pods: NodePods"""
        self.pods, self.api = pods, pods.api

    def with_port(self):
        """A pod whose port is not ACTIVE yet."""
        return self.make(Plan(201, active=False))

    def make(self, plan, **spec):
        """It has its KuryrPort before it has its node, as this producer is its scheduler."""
        (pod,) = self.pods.make(1, schedulerName="producer", **spec)
        pod.plan = plan
        self.api.request("POST", PORT_LIST, {
            "apiVersion": "openstack.org/v1", "kind": "KuryrPort",
            "metadata": {"name": pod.name, "labels": {"kuryr.openstack.org/nodeName": self.pods.node}},
            "spec": {"podUid": pod.uid, "podNodeName": self.pods.node, "podStatic": False}, "status": self._status(pod)})
        self.api.request("POST", f"{PODS}/{pod.name}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name},
            "target": {"apiVersion": "v1", "kind": "Node", "name": self.pods.node}})
        return pod

    def activate(self, pod):
        pod.plan.active = True
        self.api.patch(f"{PORT_LIST}/{pod.name}", {"status": self._status(pod)})

    @staticmethod
    def _status(pod):
        return {"vifs": {"eth0": {"default": True, "vif": pod.plan.vif()}}}
