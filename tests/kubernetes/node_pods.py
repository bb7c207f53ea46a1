"""Pods on the cluster's node, with VIFs as a producer plans them."""
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cluster import NODE
from cni_conformance.kube_api import Plan
from node import STATE, run

POD_LIST = "/api/v1/namespaces/default/pods"
PORT_LIST = "/apis/openstack.org/v1/namespaces/default/kuryrports"
VIF = "openstack.org/kuryr-vif"
SPEC = {"automountServiceAccountToken": False, "enableServiceLinks": False, "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "localhost/busybox:1", "imagePullPolicy": "Never"}]}


@dataclass(frozen=True)
class Pod:
    name: str
    uid: str
    plan: Plan


class NodePods:
    def __init__(self, cluster):
        self.api, self.cri = cluster.api, cluster.cri
        self.made = 0
        self.living = {}  # by name

    def make(self, count, annotated=True, active=True):
        def create(number):
            plan = Plan(number, active)
            metadata = {"name": f"pod-{number}", "annotations": plan.annotation() if annotated else {}}
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": SPEC}
            answer = json.loads(self.api.request("POST", POD_LIST, body))
            return Pod(metadata["name"], answer["metadata"]["uid"], plan)

        first = 10 + self.made
        self.made += count
        with ThreadPoolExecutor(count) as makers:
            pods = list(makers.map(create, range(first, first + count)))
        self.living.update((pod.name, pod) for pod in pods)
        return pods

    def annotate(self, pod):
        self.api.annotate(pod.name, pod.plan.annotation())

    def make_kuryr_port(self, pod):
        vif = json.loads(pod.plan.annotation()[VIF])
        self.api.request("POST", PORT_LIST, {
            "apiVersion": "openstack.org/v1", "kind": "KuryrPort",
            "metadata": {"name": pod.name, "labels": {"kuryr.openstack.org/nodeName": NODE}},
            "spec": {"podUid": pod.uid, "podNodeName": NODE, "podStatic": False},
            "status": {"vifs": {"eth0": {"default": True, "vif": vif}}}})

    def wait_until_run(self, pods):
        wanted = {pod.uid for pod in pods}
        self.api.wait("they run", lambda found: wanted <= {
            each["metadata"]["uid"] for each in found.values() if each["status"]["phase"] == "Running"}, POD_LIST)

    def delete(self, pods):
        with ThreadPoolExecutor(len(pods)) as deleters:
            list(deleters.map(lambda pod: self.api.request("DELETE", f"{POD_LIST}/{pod.name}"), pods))
        for pod in pods:
            del self.living[pod.name]

    # ---- what the node has of them
    def wait_until_begun(self, pod):
        """Until the kubelet makes its sandbox, or is about to."""
        self.api.wait("the kubelet has it", lambda found: found["default", pod.name]["status"].get("containerStatuses"),
                      POD_LIST)

    def interface(self, pod):
        """Its row in OVSDB."""
        told = json.loads(run(["ovs-vsctl", "--format=json", "--columns=_uuid,name,ofport,external_ids,error", "find",
                               "Interface", f"external_ids:vm-uuid={pod.uid}"]))
        rows = [dict(zip(told["headings"], row)) for row in told["data"]]
        assert len(rows) == 1, f"{pod.name} has {len(rows)} ports in OVSDB"
        return {**rows[0], "external_ids": dict(rows[0]["external_ids"][1])}

    def sandbox(self, pod):
        return self.interface(pod)["external_ids"]["kuryr-container-id"]

    def netns(self, pod):
        return self.cri.netns(self.sandbox(pod))

    def check(self, pod):
        """It has what was planned for it."""
        plan = pod.plan
        row = self.interface(pod)
        found = (row["name"], row["external_ids"]["iface-id"], row["error"])
        assert found == (plan.tap, plan.port, ["set", []]), f"{pod.name}: {found}"
        link, addresses = self.inside(pod)
        assert link == plan.mac, f"{pod.name}: MAC {link}, not {plan.mac}"
        assert addresses == {f"{plan.address}/16", f"{plan.address6}/64"}, f"{pod.name}: {addresses}"
        told = self.api.get(f"{POD_LIST}/{pod.name}")["status"]["podIP"]
        assert told == plan.address, f"{pod.name}: {told} in its status, not {plan.address}"

    def inside(self, pod):
        """(MAC, {address/prefix}) of its eth0"""
        (link,) = json.loads(run(["nsenter", f"--net={self.netns(pod)}", "ip", "-json", "address", "show", "dev", "eth0"]))
        return link["address"], {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"]
                                 if each["scope"] == "global"}

    def picture(self, pod):
        """What nobody may change while it runs."""
        (container,) = self.api.get(f"{POD_LIST}/{pod.name}")["status"]["containerStatuses"]
        (host,) = json.loads(run(["ip", "-json", "link", "show", "dev", pod.plan.tap]))
        mac, addresses = self.inside(pod)
        return {"container": container["containerID"], "restarts": container["restartCount"], "MAC": mac,
                "addresses": sorted(addresses), "port": self.interface(pod),
                "host end": {key: host.get(key) for key in ("ifindex", "address", "ifalias", "operstate")}}

    @staticmethod
    def remains():
        """What pods may leave."""
        links = {link["ifname"] for link in json.loads(run("ip -json -details link"))
                 if link.get("linkinfo", {}).get("info_kind") == "veth"}
        records = {f"record {record.name.split(':')[1]}" for record in Path(STATE).iterdir()}
        return links | set(run("ovs-vsctl list-ports br-int").split()) | records
