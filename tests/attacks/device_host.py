"""A node whose operator allowed its devices to plans: a card with virtual functions, and a folder of vhost-user sockets."""
import json
import os
import socket
import stat

from attacks.changes import SOCKETS, vhost_user, virtual_function
from attacks.host import AttackedHost, still
from harness.namespaces import WORK
from harness.open_vswitch import FOLDER as OVS_FOLDER, OpenVSwitch
from harness.pod import ANNOTATION, Plan
from harness.process import run
from kubernetes import fake_devices

ADDRESSES_OF_PCI = WORK / "pci"
# Virtual functions by their owners. The two pods' ones are each other's peers.
FIRST_POD, SECOND_POD, WITH_ADDRESS, IN_BRIDGE, WITH_MACVLAN, OF_VM, FREE = range(7)
PF_MAC = "02:00:00:00:03:ff"
# Names in the folder of vhost-user's sockets: the ports of two pods, and others' files.
CLIENT, SERVER = "vhuclient", "vhuserver"
APPLICATION, TO_DATABASE, TO_CLIENT, DIRECTORY = "vhuapplication", "vhudatabase", "vhulink", "vhudirectory"


def mac_of(number):
    return f"02:00:00:00:03:{number:02x}"


def _link_of(number):
    return f"ens1v{number}"


class DeviceHost:
    """An attacked host on Open vSwitch with DPDK."""

    def __init__(self, target, api, daemon):
        switch = OpenVSwitch()
        switch.start_vswitchd_with_dpdk()
        for folder in (SOCKETS, ADDRESSES_OF_PCI):
            folder.mkdir()
        self.usual = AttackedHost(
            target, api, daemon, ovs=switch, binding={"drivers": "ovs, hybrid, sriov, vhostuser, dpdk"},
            devices={"sysfs": fake_devices.SYSFS}, nested_dpdk={"pci_mount_point": ADDRESSES_OF_PCI},
            vhostuser={"mount_point": SOCKETS, "ovs_vhu_path": OVS_FOLDER})
        self.node = self.usual.node

    def make_devices(self):
        self.usual.make_devices()
        _make_card()
        self._fill_folder()

    def _fill_folder(self):
        self.application = _listen_at(APPLICATION)
        (SOCKETS / TO_DATABASE).symlink_to(OVS_FOLDER / "db.sock")
        (SOCKETS / TO_CLIENT).symlink_to(CLIENT)
        (SOCKETS / DIRECTORY / "file").mkdir(parents=True)

    def make_victims(self):
        """Two pods that talk have virtual functions, two have sockets. The application of the last socket does not listen now."""
        plans = [virtual_function(fake_devices.address(FIRST_POD)), virtual_function(fake_devices.address(SECOND_POD)),
                 vhost_user(CLIENT), vhost_user(SERVER, mode="server")]
        self.victims = [self._plugged(number + 11, change) for number, change in enumerate(plans)]
        _listen_at(SERVER).close()
        return self.victims

    def _plugged(self, number, change):
        plan = Plan(number)
        vif = plan.vif()
        change(vif["versioned_object.data"], vif, None)
        return self.node.added(pod=self.node.pods.create(f"pod-{number}", plan, {ANNOTATION: json.dumps(vif)}))

    def picture(self):
        """AttackedHost's picture, with devices and files. It leaves out files that were laid in sockets' places: the first attack
        on one removes it."""
        inside = {f"interface of {made.pod.name}": still(made.link()) for made in self.victims}
        folders = (SOCKETS, ADDRESSES_OF_PCI, fake_devices.SYSFS, OVS_FOLDER, "/run/kuryr")
        files = {name: what for folder in folders for name, what in _files(folder) if not _is_laid(name)}
        return {**self.usual.picture(), **inside, **files}


def _is_laid(name):
    return any(f"{SOCKETS}/{laid}" in name or f"{SOCKETS}/.{laid}." in name for laid in (TO_DATABASE, TO_CLIENT, DIRECTORY))


def _make_card():
    addresses = fake_devices.make_card(FREE + 1)
    run(f"ip link add ens1 up address {PF_MAC} type veth peer name ens1-wire")
    run("ip link set ens1-wire up")
    fake_devices.give_link(fake_devices.PF, "ens1", PF_MAC)
    for number in range(FREE + 1):
        peer = _link_of(SECOND_POD) if number == FIRST_POD else f"wire{number}"
        if number not in (SECOND_POD, OF_VM):
            run(f"ip link add {_link_of(number)} type veth peer name {peer}")
        if number != OF_VM:
            run(f"ip link set {_link_of(number)} address {mac_of(number)}")
            fake_devices.give_link(addresses[number], _link_of(number), mac_of(number))
    fake_devices.set_driver(addresses[OF_VM], "vfio-pci")
    run(f"ip address add 198.51.100.7/24 dev {_link_of(WITH_ADDRESS)}")
    run(f"ip link set {_link_of(IN_BRIDGE)} master br-lan")
    run(f"ip link add upper0 link {_link_of(WITH_MACVLAN)} type macvlan")
    fake_devices.set_upper(addresses[WITH_MACVLAN], _link_of(WITH_MACVLAN), "upper0")


def _listen_at(name):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(SOCKETS / name))
    listener.listen()
    return listener


def _files(folder):
    """(path, what it is); without the contents that Open vSwitch writes all the time."""
    for path, folders, files in os.walk(folder):
        for name in folders + files:
            file = f"{path}/{name}"
            status = os.lstat(file)
            yield f"file {file}", {"mode": stat.filemode(status.st_mode), "owner": status.st_uid, "inode": status.st_ino,
                                   **_contents(file, status.st_mode)}


def _contents(file, mode):
    if stat.S_ISLNK(mode):
        return {"target": os.readlink(file)}
    if not stat.S_ISREG(mode) or file.startswith(str(OVS_FOLDER)):
        return {}
    with open(file, "rb") as opened:
        return {"contents": opened.read().hex()}
