"""Pods on the cluster's node, and what the node has of them."""
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.kube_api import PODS
from harness.kuryr import ATTACHMENTS
from harness.process import run

PORT_LIST = "/apis/openstack.org/v1/namespaces/default/kuryrports"
MANAGEMENT_PORT = "kuryr0"
SPEC = {"automountServiceAccountToken": False, "enableServiceLinks": False, "terminationGracePeriodSeconds": 1,
        "containers": [{"name": "main", "image": "localhost/busybox:1", "imagePullPolicy": "Never"}]}


class WrittenPlan:
    """A KuryrPort's plan for eth0; names as harness.pod.Plan's."""

    def __init__(self, port):
        vif = port["status"]["vifs"]["eth0"]["vif"]["versioned_object.data"]
        self.port, self.tap, self.mac = vif["id"], vif["vif_name"], vif["address"]
        subnets = [each["versioned_object.data"]
                   for each in vif["network"]["versioned_object.data"]["subnets"]["versioned_object.data"]["objects"]]
        given = [(ip["versioned_object.data"]["address"], subnet["cidr"].split("/")[1]) for subnet in subnets
                 for ip in subnet["ips"]["versioned_object.data"]["objects"]]
        self.address, self.addresses = given[0][0], {"/".join(each) for each in given}


@dataclass
class NodePod:
    """A pod of namespace default."""

    name: str
    uid: str
    plan: object = None  # kuryr-controller's, known when the pod runs


class NodePods:
    def __init__(self, cluster):
        self.api, self.cri, self.node = cluster.api, cluster.node.cri, cluster.node.name
        self.made = 0
        self.living = {}  # by name

    def make(self, count, metadata=None, **spec):
        """metadata, spec: fields of all of them."""
        def create(number):
            body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"pod-{number}", **(metadata or {})},
                    "spec": {**SPEC, **spec}}
            answer = json.loads(self.api.request("POST", PODS, body))["metadata"]
            return NodePod(answer["name"], answer["uid"])

        first = 10 + self.made
        self.made += count
        with ThreadPoolExecutor(count) as makers:
            pods = list(makers.map(create, range(first, first + count)))
        self.living.update((pod.name, pod) for pod in pods)
        return pods

    def get(self, pod):
        return self.api.get(f"{PODS}/{pod.name}")

    def read_plan(self, pod):
        return WrittenPlan(self.api.get(f"{PORT_LIST}/{pod.name}"))

    def wait_for_phase(self, pods, phase):
        wanted = {pod.uid for pod in pods}
        self.api.wait(f"they are {phase}", lambda found: wanted <= {
            each["metadata"]["uid"] for each in found.values() if each["status"]["phase"] == phase}, PODS)

    def wait_until_run(self, pods):
        self.wait_for_phase(pods, "Running")
        for pod in pods:
            pod.plan = pod.plan or self.read_plan(pod)

    def wait_until_planned(self, pod):
        self.api.wait("it is planned", lambda found: ("default", pod.name) in found, PORT_LIST)
        pod.plan = self.read_plan(pod)

    def delete(self, pods, query=""):
        with ThreadPoolExecutor(len(pods)) as deleters:
            list(deleters.map(lambda pod: self.api.request("DELETE", f"{PODS}/{pod.name}{query}"), pods))
        for pod in pods:
            del self.living[pod.name]

    def wait_until_gone(self, pods):
        """The pods and their KuryrPorts."""
        gone = {("default", pod.name) for pod in pods}
        for path in (PODS, PORT_LIST):
            self.api.wait("they are gone", lambda found: not gone & set(found), path)

    # ---- what the node has of them
    def wait_until_begun(self, pod):
        """Until the kubelet makes its sandbox, or is about to."""
        self.api.wait("the kubelet has it", lambda found: found["default", pod.name]["status"].get("containerStatuses"),
                      PODS)

    def interface(self, pod):
        """The pod's row in OVSDB."""
        told = json.loads(run("ovs-vsctl", "--format=json", "--columns=_uuid,name,ofport,external_ids,error", "find",
                              "Interface", f"external_ids:vm-uuid={pod.uid}"))
        rows = [dict(zip(told["headings"], row)) for row in told["data"]]
        assert len(rows) == 1, f"{pod.name} has {len(rows)} ports in OVSDB"
        return {**rows[0], "external_ids": dict(rows[0]["external_ids"][1])}

    def sandbox(self, pod):
        return self.interface(pod)["external_ids"]["kuryr-container-id"]

    def netns(self, pod):
        return self.cri.netns(self.sandbox(pod))

    def check(self, pod):
        """Checks that the pod has what its plan says."""
        plan = pod.plan
        row = self.interface(pod)
        found = (row["name"], row["external_ids"]["iface-id"], row["error"])
        assert found == (plan.tap, plan.port, ["set", []]), f"{pod.name}: {found}"
        link, addresses = self.inside(pod)
        assert link == plan.mac, f"{pod.name}: MAC {link}, not {plan.mac}"
        assert addresses == plan.addresses, f"{pod.name}: {addresses}"
        told = self.get(pod)["status"]["podIP"]
        assert told == plan.address, f"{pod.name}: {told} in its status, not {plan.address}"

    def inside(self, pod):
        """(MAC, {address/prefix}) of its eth0"""
        (link,) = json.loads(run("nsenter", f"--net={self.netns(pod)}", "ip", "-json", "address", "show", "dev", "eth0"))
        return link["address"], {f"{each['local']}/{each['prefixlen']}" for each in link["addr_info"]
                                 if each["scope"] == "global"}

    def picture(self, pod):
        """The state that has to stay while the pod runs."""
        (container,) = self.get(pod)["status"]["containerStatuses"]
        (host,) = json.loads(run("ip", "-json", "link", "show", "dev", pod.plan.tap))
        mac, addresses = self.inside(pod)
        return {"container": container["containerID"], "restarts": container["restartCount"], "MAC": mac,
                "addresses": sorted(addresses), "port": self.interface(pod),
                "host end": {key: host.get(key) for key in ("ifindex", "address", "ifalias", "operstate")}}

    @staticmethod
    def remains():
        """Things that pods may leave on the node."""
        links = {link["ifname"] for link in json.loads(run("ip -json -details link"))
                 if link.get("linkinfo", {}).get("info_kind") == "veth"}
        records = {f"record {record.name.split(':')[1]}" for record in ATTACHMENTS.iterdir()}
        return links | set(run("ovs-vsctl list-ports br-int").split()) - {MANAGEMENT_PORT} | records
