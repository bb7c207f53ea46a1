"""Pods, and their VIFs as Kuryr's controller plans them."""
import copy
import json
import uuid
from dataclasses import dataclass

from harness.process import REPOSITORY

ANNOTATION = "openstack.org/kuryr-vif"
VIF = json.loads((REPOSITORY / "tests/data/demo/vif.json").read_text())


class Plan:
    """One port, as it is written on its pod."""

    def __init__(self, number, active=True, second_address=None, vhost_user=None, alone=False):
        """number: below 65536; second_address: of IPv4; vhost_user: the folder of its socket, for a port of that kind; alone: the
        pod has a network of its own, and reaches other pods by its node."""
        self.port = str(uuid.uuid4())
        self.tap = ("tap" + self.port)[:14]
        self.mac = f"fa:16:3e:00:{number >> 8:02x}:{number & 255:02x}"
        self.address, self.address6 = f"10.10.{1 + (number >> 8)}.{number & 255}", f"fd00:10::{number:x}"
        self.active = active
        self.second_address = second_address
        self.vhost_user = vhost_user
        self.alone = alone

    @property
    def cidr(self):
        """IPv4, as the pod's interface has it."""
        return f"{self.address}/16"

    @property
    def addresses(self):
        """All, as the pod's interface has them."""
        return {self.cidr, f"{self.address6}/64"}

    def vif(self):
        vif = copy.deepcopy(VIF)
        data = vif["versioned_object.data"]
        data.update(id=self.port, vif_name=self.tap, address=self.mac, active=self.active)
        data["port_profile"]["versioned_object.data"]["interface_id"] = self.port
        subnets = data["network"]["versioned_object.data"]["subnets"]["versioned_object.data"]["objects"]
        for subnet, address in zip(subnets, (self.address, self.address6)):
            ips = subnet["versioned_object.data"]["ips"]["versioned_object.data"]["objects"]
            ips[0]["versioned_object.data"]["address"] = address
            if self.alone:
                subnet["versioned_object.data"]["cidr"] = f"{address}/{128 if ':' in address else 32}"
            if self.second_address and ":" not in address:
                ips.append(copy.deepcopy(ips[0]))
                ips[1]["versioned_object.data"]["address"] = self.second_address
        if self.vhost_user:
            name = "vhu" + self.port[:11]
            vif.update({"versioned_object.name": "VIFVHostUser", "versioned_object.version": "1.1"})
            data.update(vif_name=name, path=f"{self.vhost_user}/{name}", mode="client")
            del data["bridge_name"]
        return vif

    def annotation(self):
        return {ANNOTATION: json.dumps(self.vif())}


@dataclass(frozen=True)
class Pod:
    """plan is None where somebody else planned it."""

    name: str
    uid: str
    plan: Plan = None
    namespace: str = "default"

    @property
    def arguments(self):
        """CNI_ARGS' pairs, the sandbox's apart."""
        return ["IgnoreUnknown=1", f"K8S_POD_NAMESPACE={self.namespace}", f"K8S_POD_NAME={self.name}", f"K8S_POD_UID={self.uid}"]
