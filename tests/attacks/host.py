"""A node that others use as well: with devices of several kinds, and with two pods that talk to each other."""
import json
import os
import stat
from pathlib import Path

from harness.expectation import wait_for_none
from harness.kuryr_node import AgentNode
from harness.process import run

# Of the host, and each as it is when nobody touches it.
DEVICES = {
    "uplink": "ip link add uplink up type veth peer name wire",
    "wire": "ip link set wire up",
    "wg0": "ip link add wg0 link uplink up type macvlan mode bridge",
    "docker0": "ip link add docker0 up type bridge",
    "br-lan": "ip link add br-lan up type bridge",
    "disk0": "ip link add disk0 up master br-lan type veth peer name disk1",
    "disk1": "ip link set disk1 up",
    "qbr0a1b2c3d-4e": "ip link add qbr0a1b2c3d-4e type bridge",
    "tap-vm": "ip tuntap add tap-vm mode tap",
    "tap-idle": "ip link add tap-idle type veth peer name tap-idle-peer",
    "tap-br": "ip link add tap-br type bridge",
    "vlan200": "ip link add vlan200 link uplink type vlan id 200",
    "dummy7": "ip link add dummy7 type dummy",
}
# Not every kernel has them.
OPTIONAL = ("tap-vm", "vlan200", "dummy7")
ADDRESSES = {"wg0": "10.9.0.1/24", "docker0": "172.17.0.1/16", "uplink": "192.0.2.7/24"}
WITH_CARRIER = ("uplink", "wire", "wg0", "disk0", "disk1", "br-lan")
OVS_BRIDGE = "br-ex"
WAIT_SECONDS = 5
SYSCTLS = Path("/proc/sys/net")
# What the kernel counts, and when it does something next.
MOVING = {"stats64", "stats", "gc_timer", "hello_timer", "tcn_timer", "topology_change_timer", "valid_life_time",
          "preferred_life_time", "message_age_timer", "forward_delay_timer", "hold_timer", "tentative"}


class AttackedNode(AgentNode):
    def options(self):
        usual = super().options()
        # No ADD waits long for what its annotation does not have.
        return {**usual, "cni_daemon": {"daemon_enabled": "true", "vif_annotation_timeout": WAIT_SECONDS}}

    def make_devices(self):
        """Those that this machine's kernel has. None gets an address by itself, which would come later."""
        (SYSCTLS / "ipv6/conf/default/addr_gen_mode").write_text("1")
        for name, command in DEVICES.items():
            run(command, check=name not in OPTIONAL)
        for name, address in ADDRESSES.items():
            run("ip", "address", "add", address, "dev", name)
        self.ovs.vsctl("add-br", OVS_BRIDGE, "--", "set", "Bridge", OVS_BRIDGE, "datapath_type=netdev", "--",
                       "add-port", OVS_BRIDGE, "of-vm", "--", "set", "Interface", "of-vm", "type=internal")
        wait_for_none(lambda: [name for name in WITH_CARRIER if self.links()[name]["operstate"] != "UP"], "have no carrier")

    def make_victims(self):
        """Attachments of pods, the first two of which talk to each other."""
        return [self.added(pod=pod) for pod in self.make_pods(2)]

    def picture_of_host(self):
        """{what: how it is} of all that a pod's plan has no business with."""
        return {**_links(), **_routes(), **_sysctls(), **_sockets(),
                **{f"table {number} of Open vSwitch": text for number, text in enumerate(self.ovs.picture())},
                **{row: "is there" for row in self.ovs.rows() | self.records()}}


def still(value):
    """Without what moves by itself."""
    if isinstance(value, dict):
        return {key: still(each) for key, each in value.items() if key not in MOVING}
    return [still(each) for each in value] if isinstance(value, list) else value


def _links():
    return {f"link {link['ifname']}": still(link) for link in json.loads(run("ip -j -d address show"))}


def _routes():
    return {f"routes, {family}": sorted(run("ip", family, "route", "show", "table", "all").splitlines())
            for family in ("-4", "-6")}


def _sysctls():
    found = {}
    for file in SYSCTLS.glob("ipv[46]/conf/*/*"):
        try:
            found[f"sysctl {file.relative_to(SYSCTLS)}"] = file.read_text()
        except OSError:
            pass  # some are to be written alone
    return found


def _sockets():
    """Those with a path, and those that listen."""
    paths = (Path(folder, file) for folder, _, files in os.walk("/run") for file in files)
    found = {f"socket {path}": "is there" for path in paths if stat.S_ISSOCK(os.lstat(path).st_mode)}
    return found | {f"listener {' '.join(line.split()[:5])}": "is there" for line in run("ss -Hlntu").splitlines()}
