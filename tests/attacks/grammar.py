"""Annotations that somebody would write to harm a node, made by chance from what such things are made of."""
import copy
import json

from attacks.host import DEVICES, OVS_BRIDGE
from harness.pod import ANNOTATION, Plan

KINDS = ("VIFOpenVSwitch", "VIFOpenVSwitch", "VIFBridge", "VIFBridge", "VIFVlanNested", "VIFMacvlanNested", "VIFVHostUser",
         "VIFDPDKNested", "VIFSriov", "VIFHostDevice", "VIFGeneric", "VIFOther")
PLUGINS = ("ovs", "linux_bridge", "noop", "sriov", "other", "", None)
FUTURE_DEVICES = ("wg1", "docker1", "cni0", "eth7")
NO_NAMES = ("", ".", "..", "../../etc/passwd", "a" * 16, "a b", "tap%d", "tap\n", "\x1b[2J", "lo", "all", "default")
PATHS = ("/run/openvswitch/db.sock", "/run/kuryr/kuryr-daemon.sock", "/var/cni/vhostuser/../../../run/node", "/")
NUMBERS = (-1, 0, 1, 68, 200, 4094, 4095, 65535, 65536, 1 << 31, 1 << 64)
MACS = ("00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff", "01:00:5e:00:00:01", "no MAC")
ADDRESSES = ("127.0.0.1", "0.0.0.0", "255.255.255.255", "224.0.0.1", "::1", "fe80::1", "ff02::1", "192.0.2.7", "172.17.0.1")
NETWORKS = ("0.0.0.0/0", "127.0.0.0/8", "10.10.0.0/16", "192.0.2.0/24", "::/0", "no network")
PCI_ADDRESSES = ("0000:00:00.0", "0000:00:03.0", "../0000:00:03.0")
# The API server takes 256 KiB of all annotations.
MOST_BYTES = 250000
VALUES = (None, True, {}, [], "", 7, -7.5, "x" * 5000)


class Attack:
    """One annotation, and what it is called in a report."""

    def __init__(self, number, chance, victims, more):
        """chance: a random.Random; victims: the plans of pods that live on the node; more: changes for its devices."""
        self.chance, self.victims = chance, victims
        self.plan = Plan(20000 + number)
        self.did = []
        vif = self.plan.vif()
        for change in self._changes(CHANGES + more):
            change(self, vif["versioned_object.data"], vif)
            self.did.append(change.__name__.strip("_"))
        self.annotations = {ANNOTATION: self._text(vif)[:MOST_BYTES]}
        if chance.random() < 0.1:
            self.annotations["kubernetes.io/config.hash"] = chance.choice(victims).port

    def __str__(self):
        return f"{', '.join(self.did)}: {self.annotations[ANNOTATION][:600]}"

    def _changes(self, possible):
        """A victim's MAC goes with its address: without it the network says who gets packets, and not the node."""
        chosen = self.chance.choices(possible, k=self.chance.choice((1, 1, 1, 2, 2, 3)))
        if _victim in chosen:
            return [change for change in chosen if change not in (_victim, _value)] + [_victim]
        return sorted(chosen, key=lambda change: change is _value)

    # ---- parts
    def name(self):
        victim = self.chance.choice(self.victims)
        own = (self.plan.tap, f"tap{self.chance.randrange(1 << 32):08x}", f"br{self.chance.randrange(1 << 32):08x}")
        taken = (*DEVICES, OVS_BRIDGE, "br-int", "of-vm", "ovs-netdev", victim.tap, "qbr" + victim.port[:11],
                 "vhu" + victim.port[:11])
        return self.chance.choice(self.chance.choice((own, taken, FUTURE_DEVICES, NO_NAMES)))

    def number(self):
        return self.chance.choice((*NUMBERS, self.chance.randrange(1, 4095)))

    def _text(self, vif):
        form = self.chance.random()
        if form < 0.85:
            return json.dumps(vif)
        if form < 0.95:
            more = {f"net{number}": copy.deepcopy(vif) for number in range(self.chance.choice((1, 2, 70)))}
            state = {"default_vif": vif, "additional_vifs": more}
            return json.dumps({"versioned_object.name": "PodState", "versioned_object.version": "1.0",
                               "versioned_object.namespace": "kuryr_kubernetes", "versioned_object.data": state})
        text = json.dumps(vif)
        place = self.chance.randrange(len(text))
        return self.chance.choice((text[:place], text[:place] + self.chance.choice("{}[]\",:\\") + text[place:],
                                   "[" * 5000, f'{{"a":{text},"a":{text}}}', "x" * 100000))


# ---- what may be changed: data is the VIF's, vif all of it
def _kind(attack, data, vif):
    vif["versioned_object.name"] = attack.chance.choice(KINDS)
    data["plugin"] = attack.chance.choice(PLUGINS)
    data["vlan_id"] = attack.number()
    data["mode"], data["path"] = attack.chance.choice(("client", "server")), attack.chance.choice(PATHS)
    data["dev_address"] = attack.chance.choice(PCI_ADDRESSES)


def _bridge_of_the_kernel(attack, data, vif):
    vif["versioned_object.name"], data["plugin"] = "VIFBridge", "linux_bridge"
    data["bridge_name"] = attack.name()
    _network(data).update(should_provide_bridge=True, should_provide_vlan=attack.chance.random() < 0.5,
                          vlan=attack.number(), bridge_interface=attack.name())


def _hybrid(attack, data, vif):
    vif["versioned_object.name"], data["plugin"] = "VIFBridge", "ovs"
    own = "qbr" + attack.plan.port[:11]
    data["bridge_name"] = attack.chance.choice((own, attack.name(), "qbr0a1b2c3d-4e"))


def _nested(attack, data, vif):
    vif["versioned_object.name"] = attack.chance.choice(("VIFVlanNested", "VIFMacvlanNested"))
    data.update(plugin="noop", vlan_id=attack.number())


def _vhost_user(attack, data, vif):
    vif["versioned_object.name"] = "VIFVHostUser"
    data.update(mode=attack.chance.choice(("client", "server")), path=attack.chance.choice(PATHS), vif_name=attack.name())


def _interface(attack, data, _):
    data["vif_name"] = attack.name()


def _bridge(attack, data, _):
    data["bridge_name"] = attack.name()
    _network(data)["bridge"] = attack.name()


def _datapath(attack, data, _):
    data["bridge_name"] = attack.name()
    profile = data["port_profile"]["versioned_object.data"]
    profile["datapath_type"] = attack.chance.choice(("netdev", "system", "nonsense"))


def _port_of_a_victim(attack, data, _):
    victim = attack.chance.choice(attack.victims)
    data["port_profile"]["versioned_object.data"]["interface_id"] = victim.port
    data["vif_name"] = attack.chance.choice((victim.tap, data["vif_name"]))


def _victim(attack, data, _):
    """Its MAC with its address."""
    victim = attack.chance.choice(attack.victims)
    data["address"] = victim.mac
    _fixed_ips(data)[0]["versioned_object.data"]["address"] = victim.address


def _mac(attack, data, _):
    data["address"] = attack.chance.choice(MACS)


def _address(attack, data, _):
    _fixed_ips(data)[0]["versioned_object.data"]["address"] = attack.chance.choice(ADDRESSES)


def _routes(attack, data, _):
    route = {"cidr": attack.chance.choice(NETWORKS), "gateway": attack.chance.choice(ADDRESSES)}
    routes = _subnets(data)[0]["versioned_object.data"]["routes"]["versioned_object.data"]["objects"]
    routes += [{"versioned_object.name": "Route", "versioned_object.namespace": "os_vif", "versioned_object.version": "1.0",
                "versioned_object.data": route}] * attack.chance.choice((1, 300))


def _mtu(attack, data, _):
    _network(data)["mtu"] = attack.chance.choice((-1, 0, 67, 1280, 65536, 1 << 31))


def _inactive(_, data, __):
    data["active"] = False


def _value(attack, data, _):
    """One that breaks what others would change, so it comes last."""
    data[attack.chance.choice(sorted(data))] = attack.chance.choice(VALUES)


def _network(data):
    return _data(data["network"])


def _subnets(data):
    return _data(_network(data)["subnets"])["objects"]


def _fixed_ips(data):
    return _data(_data(_subnets(data)[0])["ips"])["objects"]


def _data(value):
    return value["versioned_object.data"]


CHANGES = (_kind, _bridge_of_the_kernel, _bridge_of_the_kernel, _hybrid, _hybrid, _nested, _vhost_user, _interface, _interface,
           _bridge, _bridge, _datapath, _port_of_a_victim, _victim, _mac, _address, _routes, _mtu, _inactive, _value)
