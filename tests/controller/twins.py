"""Two pods of which the plans have one address, as the last request of a former leader leaves them when it was under way for long."""
import json

from controller.life import WAIT_SECONDS, Made
from controller.plan import addresses_of, plan_of
from harness.expectation import expect, expect_same, wait_for_none
from harness.kube_api import MERGE_PATCH
from harness.pod import ANNOTATION

NAMESPACE, NODE = "default", "node1"
PODS, PORTS = f"/api/v1/namespaces/{NAMESPACE}/pods", f"/apis/openstack.org/v1/namespaces/{NAMESPACE}/kuryrports"
FORMER = "kuryr.openstack.org/former-addresses"


def _mac_of(address):
    """As pools' pods have it."""
    return ":".join(["0a:58", *(f"{int(part):02x}" for part in address.split("."))])


class Twins:
    def __init__(self, cluster):
        self.cluster, self.history = cluster, cluster.history
        made = [self.create(f"twin-{number}") for number in (1, 2)]
        self.older, self.younger = [pod for _, pod in sorted(made, key=lambda each: each[0])]
        self.address = self.address_of(self.older)
        self.former = self.address_of(self.younger)

    def create(self, name):
        pod = self.cluster.insist("POST", PODS, {
            "metadata": {"name": name}, "spec": {"nodeName": NODE, "containers": [{"name": "pause", "image": "pause"}]}})
        metadata = pod["metadata"]
        return (metadata["creationTimestamp"], metadata["uid"]), Made(name, NAMESPACE, metadata["uid"])

    def address_of(self, made):
        """Its only one, as soon as there is one."""
        plan = self.history.wait(lambda: self.history.plan(made.key, made.uid), f"{made.key} is planned", WAIT_SECONDS)
        (address,) = addresses_of(plan)
        return address

    def holder(self, made):
        """Path and object that have its plan."""
        port = self.history.present["openstack.org/kuryrports"].get(made.key)
        return (f"{PORTS}/{made.name}", port) if port else (made.path, self.history.pod(made.key, made.uid))

    def write_late(self):
        """The younger one's plan has the older one's address."""
        path, holder = self.holder(self.younger)
        part = "metadata" if path == self.younger.path else "status"
        value = {"annotations": {ANNOTATION: holder["metadata"]["annotations"][ANNOTATION]}} if part == "metadata" else holder[part]
        text = json.dumps(value)
        for former, now in ((self.former, self.address), (_mac_of(self.former), _mac_of(self.address))):
            text = text.replace(f'"{former}"', f'"{now}"').replace(f'\\"{former}\\"', f'\\"{now}\\"')
        self.cluster.insist("PATCH", path, {part: json.loads(text)}, kind=MERGE_PATCH)

    def wait_for_another(self):
        def has_another():
            _, holder = self.holder(self.younger)
            return (self.address in holder["metadata"].get("annotations", {}).get(FORMER, "").split(",")
                    and self.address not in addresses_of(plan_of(holder)))

        self.history.wait(has_another, f"{self.younger.key} has another address than {self.address}", WAIT_SECONDS)
        expect_same({self.address}, addresses_of(plan_of(self.holder(self.older)[1])), "the older one's address")
        wait_for_none(lambda: {"KuryrAddressChanged"} - self.reasons(self.younger), "not told")

    def tell_of_the_former(self):
        """A node had made the younger one's plan true before it was another one, and its kubelet says so."""
        self.cluster.insist("PATCH", f"{self.younger.path}/status",
                            {"status": {"podIP": self.address, "podIPs": [{"ip": self.address}]}}, kind=MERGE_PATCH)
        wait_for_none(lambda: {"KuryrAddressConflict"} - self.reasons(self.younger), "not told")
        expect("KuryrAddressConflict" not in self.reasons(self.older), "the older one was told of it")

    def reasons(self, made):
        events = self.cluster.insist("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
        return {event["reason"] for event in events if event["involvedObject"]["name"] == made.name}

    def delete(self, made):
        self.cluster.insist("DELETE", f"{made.path}?gracePeriodSeconds=0")
        self.history.wait(lambda: not self.history.pod(made.key, made.uid), f"{made.key} is gone", WAIT_SECONDS)
