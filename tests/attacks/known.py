"""Attacks that somebody has tried: what is written on the pod, and the code of the answer. docs/attacks.md has the table."""
import json

from attacks.changes import kind, vhost_user, virtual_function
from attacks.host import IDLE_BRIDGE, IDLE_VETH
from harness.pod import ANNOTATION, Plan

REFUSED, MALFORMED, TAKEN, FAILED = 102, 101, 11, 5
# It is a pod as any other.
NONE = 0


class KnownAttack:
    def __init__(self, text, code, change):
        """change(data, vif, victim) of an ordinary plan; victim: the plan of a pod that lives on the node."""
        self.text, self.code, self.change = text, code, change

    def annotations(self, number, victim):
        vif = Plan(40000 + number).vif()
        data = vif["versioned_object.data"]
        changed = self.change(data, vif, victim)
        return {ANNOTATION: json.dumps(changed or vif)}


def _profile(data):
    return data["port_profile"]["versioned_object.data"]


def _vlan_of_the_uplink(data, vif, _):
    kind("VIFBridge", "linux_bridge", bridge_name="br200")(data, vif, _)
    data["network"]["versioned_object.data"].update(should_provide_bridge=True, should_provide_vlan=True, vlan=200,
                                                    bridge_interface="uplink")


def _tap(data, _, __):
    data["bridge_name"] = "tap-vm"
    _profile(data)["datapath_type"] = "netdev"


def _port(data, _, victim):
    _profile(data)["interface_id"] = victim.port


def _mac_and_address(data, _, victim):
    data["address"] = victim.mac
    subnet = data["network"]["versioned_object.data"]["subnets"]["versioned_object.data"]["objects"][0]
    subnet["versioned_object.data"]["ips"]["versioned_object.data"]["objects"][0]["versioned_object.data"]["address"] = \
        victim.address


def _many(_, vif, __):
    return {"versioned_object.name": "PodState", "versioned_object.version": "1.0",
            "versioned_object.namespace": "kuryr_kubernetes",
            "versioned_object.data": {"default_vif": vif, "additional_vifs": {f"net{n}": vif for n in range(70)}}}


ALL = (
    KnownAttack("a VLAN of the uplink on a bridge of the pod's own", REFUSED, _vlan_of_the_uplink),
    KnownAttack("a bridge of Open vSwitch under the name of a future device", REFUSED,
                lambda data, _, __: data.update(bridge_name="wg1")),
    KnownAttack("a virtual machine's tap as bridge", REFUSED, _tap),
    KnownAttack("a bridge of Open vSwitch that others use", REFUSED, lambda data, _, __: data.update(bridge_name="br-ex")),
    KnownAttack("a bridge of the kernel that others use", REFUSED,
                kind("VIFBridge", "linux_bridge", bridge_name="docker0")),
    KnownAttack("the bridge between another port and its security groups", REFUSED,
                kind("VIFBridge", "linux_bridge", bridge_name="qbr0a1b2c3d-4e")),
    KnownAttack("the same as a hybrid plug's own", MALFORMED, kind("VIFBridge", "ovs", bridge_name="qbr0a1b2c3d-4e")),
    KnownAttack("a link on the node's uplink", REFUSED, kind("VIFMacvlanNested", "noop")),
    KnownAttack("a VLAN on the node's uplink", REFUSED, kind("VIFVlanNested", "noop", vlan_id=200)),
    KnownAttack("a socket of the node as vhost-user port", REFUSED,
                vhost_user("vhu1", "/run/openvswitch/db.sock")),
    KnownAttack("a PCI device of the node", REFUSED, virtual_function("0000:00:03.0")),
    KnownAttack("a device of the node as host interface", TAKEN, lambda data, _, __: data.update(vif_name="wg0")),
    KnownAttack("a device that is yet to come as host interface", REFUSED, lambda data, _, __: data.update(vif_name="wg1")),
    KnownAttack("a veth of the node's that is down as host interface", TAKEN,
                lambda data, _, __: data.update(vif_name=IDLE_VETH)),
    KnownAttack("a bridge of the node's that is down as host interface", TAKEN,
                lambda data, _, __: data.update(vif_name=IDLE_BRIDGE)),
    KnownAttack("another pod's host interface", TAKEN, lambda data, _, victim: data.update(vif_name=victim.tap)),
    KnownAttack("another pod's port ID", TAKEN, _port),
    KnownAttack("another pod's MAC with its address", TAKEN, _mac_and_address),
    KnownAttack("71 VIFs", MALFORMED, _many),
)
