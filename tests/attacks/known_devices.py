"""Known attacks on a node's devices and sockets, whose drivers the operator has allowed."""
from attacks import device_host as host
from attacks.changes import SOCKETS, dpdk, host_device, kind, vhost_user, virtual_function
from attacks.known import FAILED, MALFORMED, NONE, TAKEN, KnownAttack
from kubernetes.fake_devices import PF, address

ABSENT_CARD = "0000:7f:10.1"

ALL = (
    KnownAttack("another pod's virtual function", TAKEN, virtual_function(address(host.FIRST_POD))),
    KnownAttack("another pod's virtual function, by its representor", TAKEN, host_device(address(host.SECOND_POD))),
    KnownAttack("a virtual function with an address of the node", TAKEN, virtual_function(address(host.WITH_ADDRESS))),
    KnownAttack("a virtual function in a bridge of the node", TAKEN, virtual_function(address(host.IN_BRIDGE))),
    KnownAttack("a virtual function below a macvlan of the node", TAKEN, virtual_function(address(host.WITH_MACVLAN))),
    KnownAttack("a virtual function of a virtual machine", TAKEN, virtual_function(address(host.OF_VM))),
    KnownAttack("the card itself", MALFORMED, virtual_function(PF)),
    KnownAttack("a virtual function of a card that is absent", MALFORMED, virtual_function(ABSENT_CARD)),
    KnownAttack("a PCI address that leaves its folder", MALFORMED, virtual_function("../" + address(host.FREE))),
    KnownAttack("a VLAN on a card that sets none", FAILED, virtual_function(address(host.FREE), vlan_name="200")),
    KnownAttack("a representor on a card without a switch", FAILED, host_device(address(host.FREE))),
    KnownAttack("the node's own device, by its MAC, for DPDK", TAKEN, dpdk(host.PF_MAC)),
    KnownAttack("another pod's device, by its MAC, for DPDK", FAILED, dpdk(host.mac_of(host.FIRST_POD))),
    KnownAttack("another pod's port of vhost-user", TAKEN, vhost_user(host.CLIENT)),
    KnownAttack("the same, to connect to its socket", TAKEN, vhost_user(host.CLIENT, mode="server")),
    KnownAttack("another pod's socket on which nobody listens", TAKEN, vhost_user(host.SERVER)),
    KnownAttack("a socket on which an application listens", TAKEN, vhost_user(host.APPLICATION)),
    KnownAttack("the same, to connect to it", TAKEN, vhost_user(host.APPLICATION, mode="server")),
    KnownAttack("a socket outside of the folder", MALFORMED, vhost_user("vhu1", "/run/openvswitch/db.sock", "server")),
    KnownAttack("a path that leaves the folder", MALFORMED, vhost_user("vhu1", f"{SOCKETS}/../vhu1", "server")),
    KnownAttack("a name that leaves the folder", MALFORMED, vhost_user("vhu/../../vhu1")),
    KnownAttack("a name that is no port's", MALFORMED, vhost_user("db.sock")),
    KnownAttack("a symbolic link in the folder to a socket of the node", NONE, vhost_user(host.TO_DATABASE)),
    KnownAttack("a symbolic link in the folder to another pod's socket, to connect to that", NONE,
                vhost_user(host.TO_CLIENT, mode="server")),
    KnownAttack("a directory in the folder", NONE, vhost_user(host.DIRECTORY)),
)

NAMES = (host.CLIENT, host.SERVER, host.APPLICATION, host.TO_DATABASE, host.TO_CLIENT, host.DIRECTORY, "vhunew", "../vhu", "db.sock")
FOLDERS = (SOCKETS, SOCKETS, f"{SOCKETS}/..", "/run/openvswitch")
ADDRESSES = (PF, ABSENT_CARD, *map(address, range(host.FREE + 1)), address(host.FREE))


# ---- what may be changed by chance
def _function(attack, data, vif):
    change = attack.chance.choice((virtual_function, virtual_function, host_device))
    change(attack.chance.choice(ADDRESSES), vlan_name=attack.chance.choice(("", "", "200", "-1")))(data, vif, None)


def _socket(attack, data, vif):
    name = attack.chance.choice(NAMES)
    path = f"{attack.chance.choice(FOLDERS)}/{name}"
    vhost_user(name, path, attack.chance.choice(("client", "server")))(data, vif, None)


def _device_of_dpdk(attack, data, vif):
    mac = attack.chance.choice((host.PF_MAC, *map(host.mac_of, range(host.FREE + 1))))
    kind("VIFDPDKNested", "noop", address=mac, pci_address=attack.chance.choice(ADDRESSES))(data, vif, None)


CHANGES = (_function, _function, _socket, _socket, _socket, _device_of_dpdk)
