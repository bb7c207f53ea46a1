"""A node that is attacked: its devices of several kinds, and two pods of it that talk to each other."""
import json
import os
import stat
from pathlib import Path

from harness.expectation import wait_for_none
from harness.kuryr_node import kuryr_node
from harness.open_vswitch import FOLDER as OVS_FOLDER
from harness.process import run

IDLE_VETH, IDLE_BRIDGE = "tap1d1e0000-11", "tap1d1e0000-12"
# Devices of the host, each as it is while nothing touches it.
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
    "tun7": "ip tuntap add tun7 mode tun",
    # Named like a port's taps, as a plan may name them.
    IDLE_VETH: f"ip link add {IDLE_VETH} type veth peer name idle-peer",
    IDLE_BRIDGE: f"ip link add {IDLE_BRIDGE} type bridge",
    "vlan200": "ip link add vlan200 link uplink type vlan id 200",
    "macvtap7": "ip link add macvtap7 link uplink type macvtap mode bridge",
    "ipvlan7": "ip link add ipvlan7 link wire type ipvlan mode l2",
    "vxlan7": "ip link add vxlan7 up type vxlan id 7 remote 192.0.2.8 dev uplink dstport 4788",
    "geneve7": "ip link add geneve7 up type geneve id 7 remote 192.0.2.8",
    "gretap7": "ip link add gretap7 type gretap local 192.0.2.7 remote 192.0.2.8",
    "ipip7": "ip link add ipip7 type ipip local 192.0.2.7 remote 192.0.2.8",
    "sit7": "ip link add sit7 type sit local 192.0.2.7 remote 192.0.2.8",
    "bond7": "ip link add bond7 type bond",
    "vrf7": "ip link add vrf7 type vrf table 7",
    "ifb7": "ip link add ifb7 up type ifb",
    "wireguard7": "ip link add wireguard7 type wireguard",
    "dummy7": "ip link add dummy7 type dummy",
}
# Devices that not every kernel has.
OPTIONAL = {"tap-vm", "tun7"} | {name for name in DEVICES if name.endswith("7") or name == "vlan200"}
ADDRESSES = {"wg0": "10.9.0.1/24", "docker0": "172.17.0.1/16", "uplink": "192.0.2.7/24"}
WITH_CARRIER = ("uplink", "wire", "wg0", "disk0", "disk1", "br-lan")
OVS_BRIDGE = "br-ex"
WAIT_SECONDS = 5
SYSCTLS = Path("/proc/sys/net")
# The kernel counts its tracked connections there.
MOVING_SYSCTLS = ("nf_conntrack_count",)
# ovs-vswitchd counts in these columns of the database.
MOVING_COLUMNS = {"statistics", "cur_cfg", "next_cfg", "link_resets", "_version"}
# The kernel's counters and timers.
MOVING = {"stats64", "stats", "gc_timer", "hello_timer", "tcn_timer", "topology_change_timer", "valid_life_time",
          "preferred_life_time", "message_age_timer", "forward_delay_timer", "hold_timer", "tentative"}


class AttackedHost:
    def __init__(self, target, api, daemon, **options):
        """options: kuryr_node's."""
        # An ADD does not wait long for what its annotation lacks.
        self.node = kuryr_node(target, api, daemon, **options,
                               cni_daemon={"daemon_enabled": "true", "vif_annotation_timeout": WAIT_SECONDS})

    def make_devices(self):
        """Makes those that this machine's kernel has. The kernel gives none of them an address by itself, later."""
        (SYSCTLS / "ipv6/conf/default/addr_gen_mode").write_text("1")
        for name, command in DEVICES.items():
            run(command, check=name not in OPTIONAL)
        print("kinds of devices: " + ", ".join(sorted({link.get("linkinfo", {}).get("info_kind", "loopback")
                                                       for link in self.node.links().values()})), flush=True)
        for name, address in ADDRESSES.items():
            run("ip", "address", "add", address, "dev", name)
        self.node.ovs.vsctl("add-br", OVS_BRIDGE, "--", "set", "Bridge", OVS_BRIDGE, "datapath_type=netdev", "--",
                            "add-port", OVS_BRIDGE, "of-vm", "--", "set", "Interface", "of-vm", "type=internal")
        wait_for_none(lambda: [name for name in WITH_CARRIER if self.node.links()[name]["operstate"] != "UP"],
                      "have no carrier")

    def make_victims(self):
        """Attachments of pods, the first two of which talk to each other."""
        return [self.node.added(pod=pod) for pod in self.node.pods.make_many(2)]

    def picture(self):
        """{what: how it is} of all that a pod's plan has no business with."""
        return {**_links(), **_rules(), **_sysctls(), **_sockets(), **_rows(),
                **{record: "is there" for record in self.node.kuryr.remains()}}


def still(value):
    """The value without counters and timers."""
    if isinstance(value, dict):
        return {key: still(each) for key, each in value.items() if key not in MOVING}
    return [still(each) for each in value] if isinstance(value, list) else value


def _links():
    return {f"link {link['ifname']}": still(link) for link in json.loads(run("ip -j -d address show"))}


def _rules():
    """Rules by which packets go. Bridges without VLANs, and kernels without rules, have no answer."""
    questions = [f"ip {family} {what}" for family in ("-4", "-6") for what in ("route show table all", "rule show")]
    questions += ["bridge -d vlan show", "bridge fdb show state permanent", "tc -d qdisc show", "nft list ruleset"]
    return {question: sorted(run(question, check=False).splitlines()) for question in questions}


def _rows():
    """All rows of Open vSwitch's database."""
    tables = map(json.loads, run(f"ovsdb-client -f json dump unix:{OVS_FOLDER}/db.sock").splitlines())
    rows = ((table["caption"], dict(zip(table["headings"], values))) for table in tables for values in table["data"])
    return {f"row {row['_uuid'][1]} of {caption}": {name: value for name, value in row.items() if name not in MOVING_COLUMNS}
            for caption, row in rows}


def _sysctls():
    found = {}
    for file in (file for file in SYSCTLS.glob("**/*") if file.is_file() and file.name not in MOVING_SYSCTLS):
        try:
            found[f"sysctl {file.relative_to(SYSCTLS)}"] = file.read_text()
        except OSError:
            pass  # some can only be written
    return found


def _sockets():
    """Sockets that have a path, and sockets that listen."""
    paths = (Path(folder, file) for folder, _, files in os.walk("/run") for file in files)
    found = {f"socket {path}": "is there" for path in paths if stat.S_ISSOCK(os.lstat(path).st_mode)}
    return found | {f"listener {' '.join(line.split()[:5])}": "is there" for line in run("ss -Hlntu").splitlines()}
