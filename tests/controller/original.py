"""A cluster of the original's era: what kuryr-kubernetes left on pods and beside them (tests/data/vif-samples, and the KuryrPort
of tests/data/apiserver-http), each at a pod of its own."""
import ipaddress
import itertools
import json

from controller import history
from controller.life import WAIT_SECONDS, Made
from controller.plan import FINALIZER, addresses_of
from harness.kube_api import MERGE_PATCH
from harness.pod import ANNOTATION
from harness.process import REPOSITORY

DATA = REPOSITORY / "tests/data"
SAMPLES = DATA / "vif-samples"
NAMESPACE, NODE = "original", "worker-0"
PODS, PORTS = f"/api/v1/namespaces/{NAMESPACE}/pods", f"/apis/openstack.org/v1/namespaces/{NAMESPACE}/kuryrports"
GIVEN = {f"10.1.0.{number}" for number in range(2, 51)}  # by [pool:original], of the samples' network
KINDS = ("ovs-*", "nested-*", "vhostuser-*", "sriov-*")  # of VIFs that its controller made
NETWORKS = "k8s.v1.cni.cncf.io/networks"
ANNOTATIONS = ("2016-queens-single-vif.min", "rocky-podstate-default-only-REAL-inactive.min", "rocky-podstate-additional-vifs.min")


class Original:
    def __init__(self, cluster):
        self.cluster = cluster
        self.keys, self.taken = [], set()
        self.numbers = itertools.count(5)
        cluster.insist("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        cluster.insist("POST", "/api/v1/nodes", {"metadata": {"name": NODE}})
        for sample in sorted(SAMPLES.glob("kuryrport/*.json")):
            self.create_with_port(sample.stem, _read(sample))
        for sample in sorted(path for kind in KINDS for path in SAMPLES.glob(f"vif/{kind}.json")):
            port = _read(SAMPLES / "kuryrport/ovs-active.json")
            port["status"]["vifs"]["eth0"]["vif"] = _read(sample)
            self.create_with_port(sample.stem, port)
        for name in ANNOTATIONS:
            self.create_annotated(name, _read(SAMPLES / f"annotation/{name}.json"))
        self.unreadable = self.create_captured("crd-get-200")
        present = cluster.history.present
        cluster.history.wait(lambda: self.unreadable in present[history.PORTS], "the last of them is written", WAIT_SECONDS)

    def create_with_port(self, name, port):
        is_deleted = "deletionTimestamp" in port["metadata"]
        self.make_unique(port)
        path = self.create_port(self.create_pod(name), port)
        if is_deleted:
            self.cluster.insist("DELETE", f"{PODS}/{name}?gracePeriodSeconds=0")
            self.cluster.insist("DELETE", path)

    def create_annotated(self, name, value):
        self.make_unique(value)
        others = len(list(_objects_in(value, "VIF"))) - 1
        networks = {NETWORKS: ",".join(f"net-{number}" for number in range(others))} if others else {}
        self.create_pod(name, {ANNOTATION: json.dumps(value)} | networks)

    def create_captured(self, name):
        """Its VIF has a name and no data. The pod's key."""
        _, _, body = (DATA / f"apiserver-http/{name}.raw").read_text().partition("\n\n")
        self.create_port(self.create_pod(name), json.loads(body))
        return self.keys[-1]

    def create_pod(self, name, annotations=None):
        """With the finalizer, as all that the original planned."""
        self.keys.append(f"{NAMESPACE}/{name.lower()}")
        return self.cluster.insist("POST", PODS, {
            "metadata": {"name": name.lower(), "finalizers": [FINALIZER], "annotations": annotations or {}},
            "spec": {"nodeName": NODE, "containers": [{"name": "pause", "image": "pause"}]}})

    def create_port(self, pod, port):
        """The sample for this pod; its path."""
        name, uid = pod["metadata"]["name"], pod["metadata"]["uid"]
        port["metadata"] = {key: port["metadata"][key] for key in ("finalizers", "labels")} | {
            "name": name, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid}]}
        port["spec"]["podUid"] = uid
        self.cluster.insist("POST", PORTS, port)
        return f"{PORTS}/{name}"

    def make_unique(self, value):
        """The samples are one pod's at several times: each VIF becomes another one's, with addresses and id of its own."""
        for vif in _objects_in(value, "VIF"):
            number = next(self.numbers)
            data = vif["versioned_object.data"]
            data.update(id=f"{data['id'][:-4]}{number:04x}", address=f"fa:16:3e:80:d4:{number:02x}")
            for fixed in _objects_in(vif, "FixedIP"):
                address = ipaddress.ip_address(fixed["versioned_object.data"]["address"])
                unique = str(ipaddress.ip_address(address.packed[:-1] + bytes([number])))
                fixed["versioned_object.data"]["address"] = unique
                self.taken |= {unique} & GIVEN

    def let_go(self, name):
        """As docs/controller.md says of a deleted pod."""
        self.cluster.insist("PATCH", f"{PORTS}/{name}", {"metadata": {"finalizers": None}}, kind=MERGE_PATCH)
        present = self.cluster.history.present
        self.cluster.history.wait(lambda: f"{NAMESPACE}/{name}" not in present[history.PODS], f"{name} is gone", WAIT_SECONDS)

    def events(self):
        """{(pod, reason)} of all Events in its namespace."""
        events = self.cluster.insist("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
        return {(event["involvedObject"]["name"], event["reason"]) for event in events}


class Neighbours:
    """One pod more than addresses are left."""

    def __init__(self, original):
        self.original, self.cluster = original, original.cluster
        self.left = GIVEN - original.taken
        self.pods = [self.create(f"neighbour-{number}") for number in range(len(self.left) + 1)]
        self.cluster.history.wait(lambda: len(self.plans()) == len(self.left), "each of them has a plan, but for one", WAIT_SECONDS)

    def create(self, name):
        pod = self.cluster.insist("POST", PODS, {
            "metadata": {"name": name}, "spec": {"nodeName": NODE, "containers": [{"name": "pause", "image": "pause"}]}})
        return Made(name, NAMESPACE, pod["metadata"]["uid"])

    def plans(self):
        """{uid: plan} of those that have one."""
        plans = {pod.uid: self.cluster.history.plan(pod.key, pod.uid) for pod in self.pods}
        return {uid: plan for uid, plan in plans.items() if plan}

    def addresses(self):
        return {address for plan in self.plans().values() for address in addresses_of(plan)}

    def waiting(self):
        """The name of the one without an address."""
        (pod,) = [pod for pod in self.pods if pod.uid not in self.plans()]
        return pod.name

    def delete(self):
        for pod in self.pods:
            self.cluster.insist("DELETE", f"{pod.path}?gracePeriodSeconds=0")
        self.cluster.history.wait(lambda: not any(self.cluster.history.pod(pod.key, pod.uid) for pod in self.pods),
                                  "they are gone", WAIT_SECONDS)


def _read(path):
    return json.loads(path.read_text())


def _objects_in(value, name):
    """os-vif's objects of this name, wherever they stand; "VIF" for every kind of VIF."""
    found = value.get("versioned_object.name", "") if isinstance(value, dict) else ""
    if found == name or (name == "VIF" and found.startswith("VIF") and not found.startswith("VIFPortProfile")):
        yield value
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from _objects_in(part, name)
