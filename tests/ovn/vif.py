"""VIFs of ports that OVN wires, as Kuryr's controller writes them."""
import copy
import json
from dataclasses import dataclass

from harness.pod import ANNOTATION, VIF


@dataclass(frozen=True)
class Subnet:
    cidr: str
    gateway: str


@dataclass
class Port:
    """The plan of a pod."""

    id: str
    mac: str
    mtu: int
    addresses: tuple  # of (Subnet, address); the first is of IPv4, the second of IPv6
    active: bool = True

    @property
    def tap(self):
        return ("tap" + self.id)[:14]

    def address(self, family):
        """family: 4 or 6."""
        return next(address for _, address in self.addresses if (":" in address) == (family == 6))

    def annotation(self):
        vif = copy.deepcopy(VIF)
        data = vif["versioned_object.data"]
        data.update(id=self.id, vif_name=self.tap, address=self.mac, active=self.active)
        data["port_profile"]["versioned_object.data"]["interface_id"] = self.id
        network = data["network"]["versioned_object.data"]
        network["mtu"] = self.mtu
        for form, (subnet, address) in zip(network["subnets"]["versioned_object.data"]["objects"], self.addresses):
            form["versioned_object.data"].update(cidr=subnet.cidr, gateway=subnet.gateway)
            ip, = form["versioned_object.data"]["ips"]["versioned_object.data"]["objects"]
            ip["versioned_object.data"]["address"] = address
        return {ANNOTATION: json.dumps(vif)}
