"""A node whose OVN and Open vSwitch are upgraded under pods."""
import itertools
import os
import subprocess
import time

from harness.expectation import expect, nothing
from harness.open_vswitch import FOLDER as OVS_FOLDER
from harness.open_vswitch import OpenVSwitch
from harness.process import run
from harness.traffic import Traffic
from ovn import members
from ovn.central import EVENT_SECONDS, HOST_NAME, NORTHBOUND_PORT, SOUTHBOUND_PORT, avoid_zero_snat
from ovn.topology import MTU, Topology, subnets
from harness.host import HERE

CHASSIS = "kuryr-node"
ALLOWED = "allowed"
POLL_SECONDS = 0.2


class Pod:
    def __init__(self, number, port):
        self.name, self.port = f"pod{number}", port
        self.netns, self.address = f"/run/netns/{self.name}", port.address(4)


class Databases:
    """The members' pods, rolled as a StatefulSet's."""

    def __init__(self, release):
        members.set_up(CHASSIS)
        self.release, self.members = release, [members.Member(number) for number in range(3)]
        for member in self.members:
            member.start(release)
        self.wait_until_ready()

    def wait_until_ready(self, of=None):
        deadline = time.monotonic() + 2 * EVENT_SECONDS
        for member in of or self.members:
            while not member.is_ready():
                member.expect_alive()
                expect(time.monotonic() < deadline, f"{member.env['POD']} is not ready: {member.said()[-600:]}")
                time.sleep(POLL_SECONDS)

    def replace(self, number, release):
        member = self.members[number]
        member.stop()
        member.start(release)
        self.wait_until_ready([member])

    def roll(self, release):
        for number in (2, 1, 0):
            self.replace(number, release)
        self.release = release

    def schemas(self):
        """What all members have; they may learn of a change a moment later."""
        deadline = time.monotonic() + EVENT_SECONDS
        while True:
            found = [member.schema_versions() for member in self.members]
            if all(each == found[0] for each in found) or time.monotonic() > deadline:
                return found
            time.sleep(POLL_SECONDS)

    def nbctl(self, *arguments):
        return run("ovn-nbctl", f"--db={members.remotes(NORTHBOUND_PORT)}", *members.files_of("central"),
                   f"--timeout={2 * EVENT_SECONDS}", *arguments, prefix=self.release.enter())


class UpgradedNode:
    def __init__(self, databases, release):
        self.databases, self.numbers = databases, itertools.count(1)
        self.ovs = OpenVSwitch()
        avoid_zero_snat(HERE, self.ovs)
        # As kuryr-daemon with [ovn] manage_node.
        self.ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:system-id={CHASSIS}", f"external_ids:hostname={HOST_NAME}",
                       f'external_ids:ovn-remote="{members.remotes(SOUTHBOUND_PORT)}"', "external_ids:ovn-encap-type=geneve",
                       "external_ids:ovn-encap-ip=127.0.0.1", "external_ids:ovn-match-northd-version=true",
                       "external_ids:ovn-ofctrl-wait-before-clear=5000")
        self.controller, self.release = None, release
        self.start_controller(release)
        self.topology = Topology(databases)
        databases.nbctl("pg-add", ALLOWED)
        for direction, priority, match, action in (("to-lport", 1000, f"outport == @{ALLOWED} && ip", "drop"),
                                                   ("to-lport", 1001, f"outport == @{ALLOWED} && ip4", "allow-related"),
                                                   ("from-lport", 1, f"inport == @{ALLOWED} && ip", "allow-related")):
            databases.nbctl("--type=port-group", "acl-add", ALLOWED, direction, priority, match, action)
        self.pods = [self.plug(switch) for switch in (1, 1, 2, 2)]
        for pod in self.pods:
            self.wait_until_wired(pod)
        self.traffic = Traffic([(pod.netns, pod.address) for pod in self.pods])
        expect(self.traffic.wait_until_all_flow(), "pods do not reach each other")

    # ---- ovn-controller
    def start_controller(self, release):
        """As ovn-host.yaml's pod."""
        self.release = release
        log = OVS_FOLDER / f"ovn-controller-{release.suite}.log"
        folder = OVS_FOLDER / "ovn"
        folder.mkdir(exist_ok=True)
        self.controller = subprocess.Popen(
            [*release.enter([("/run/ovn", folder)]), "ovn-controller", "unix:/run/openvswitch/db.sock", *members.files_of("node"),
             f"--log-file={log}"], stderr=subprocess.DEVNULL)

    def upgrade_controller(self, release):
        """A signal ends it, and its pod's successor begins."""
        self.controller.terminate()
        self.controller.wait(EVENT_SECONDS)
        self.start_controller(release)

    # ---- Open vSwitch
    def upgrade_open_vswitch(self, release):
        """As its package does: in order, with the database converted."""
        for program in ("ovs-vswitchd", "ovsdb-server"):
            pid = int((self.ovs.folder / f"{program}.pid").read_text())
            self.ovs.host.run("ovs-appctl", "-t", program, "exit", env=self.ovs.env)
            os.waitpid(pid, 0)
        run("ovsdb-tool", "convert", OVS_FOLDER / "conf.db", "/usr/share/openvswitch/vswitch.ovsschema", prefix=release.enter())
        for program, words in (("ovsdb-server", (OVS_FOLDER / "conf.db", "--remote=punix:/run/openvswitch/db.sock")),
                               ("ovs-vswitchd", ())):
            run(*release.enter(), program, *words, "--detach", "--no-chdir", f"--pidfile={program}.pid",
                f"--log-file={OVS_FOLDER}/{program}.log", env=self.ovs.env)

    # ---- pods
    def plug(self, switch):
        number = next(self.numbers)
        pod = Pod(number, self.topology.add_port(switch))
        self.databases.nbctl("pg-set-ports", ALLOWED, *[each.port.id for each in (*getattr(self, "pods", ()), pod)])
        run("ip", "netns", "add", pod.name)
        run(f"ip link add {pod.name} mtu {MTU} up type veth peer name eth0 mtu {MTU} address {pod.port.mac} netns {pod.name}")
        (four, _) = subnets(switch)
        for command in ("link set eth0 up", f"address add {pod.address}/24 dev eth0", f"route add default via {four.gateway}"):
            run(f"ip -n {pod.name} {command}")
        # The userspace datapath passes on what the kernel left without a checksum.
        run("ip", "netns", "exec", pod.name, "ethtool", "-K", "eth0", "tx", "off")
        self.ovs.vsctl("add-port", "br-int", pod.name, "--", "set", "Interface", pod.name, f"external_ids:iface-id={pod.port.id}")
        return pod

    def wait_until_wired(self, pod):
        self.ovs.vsctl("wait-until", "Interface", pod.name, "external_ids:ovn-installed=true")

    def is_wired(self, pod):
        return "ovn-installed=" in self.ovs.vsctl("get", "Interface", pod.name, "external_ids")

    def unplug(self, pod):
        self.ovs.vsctl("del-port", pod.name)
        run("ip", "netns", "delete", pod.name)
        self.databases.nbctl("lsp-del", pod.port.id)

    def new_pod_is_reached(self):
        pod = self.plug(2)
        self.wait_until_wired(pod)
        self.reach(pod)
        self.unplug(pod)

    def reach(self, pod):
        run("nsenter", f"--net={self.pods[0].netns}", "ping", "-n", "-q", "-i", "0.2", "-c", "1", "-w", EVENT_SECONDS, pod.address)

    def expect_no_loss(self, since):
        """since: time.monotonic(). Waits until what is under way has arrived."""
        expect(self.traffic.wait_until_all_flow(), "pods do not reach each other any more")
        nothing((f"of {self.pods[flow].name} after {sent - since:.2f} s" for flow, sent in self.traffic.lost() if sent >= since),
                "datagrams were lost")
