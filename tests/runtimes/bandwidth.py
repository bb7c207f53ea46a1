"""Limits by libcni and with traffic, both ways: Debian's bandwidth behind kuryr-cni on a bridge, and kuryr-cni's own on ports of
Open vSwitch. There they hold against the pod, and when Open vSwitch was started again."""
import json
import os
from pathlib import Path

from harness.open_vswitch import KERNEL_DATAPATH
from harness.pod import Plan
from harness.process import run
from harness.runtime_node import SHAPING
from harness.traffic import flow, ping
from harness.transcript import Transcript
from runtimes import node
from runtimes.libcni import CLIENT, CONFLIST

RATE = 20_000_000
BURST = 2_000_000
SKIP = 2 * BURST // 8  # bytes, after which the burst is spent
SIZE = 5_000_000
FLOWS = 4
NEEDS = SHAPING
RECEIVED = {"ingressRate": RATE, "ingressBurst": BURST}
SENT = {"egressRate": RATE, "egressBurst": BURST}
# A policer drops what is too much, and TCP takes some time to find its rate.
SHAPED, POLICED = 0.8, 0.4
OWN = {"bandwidth": True}
IPAM = {"type": "host-local", "ranges": [[{"subnet": "10.23.0.0/16"}]]}
# A pod's root with NET_ADMIN does this to its interface.
ATTACKS = ["ip link set eth0 down", "ip link set eth0 up", "tc qdisc replace dev eth0 root pfifo", "tc qdisc delete dev eth0 root",
           "ip link set eth0 txqueuelen 10000", "ip link set eth0 mtu 1400"]


class Pod:
    """An attachment by libcni."""

    def __init__(self, plugins, name, arguments=(), capabilities=None):
        CONFLIST.write_text(json.dumps({"cniVersion": "1.0.0", "name": "kuryr", "plugins": plugins}), encoding="utf-8")
        self.netns = f"/run/netns/{name}"
        self._words = [CONFLIST, name, self.netns, *arguments]
        self._environment = os.environ | {"CNI_PATH": "/opt/cni/bin", "CAPABILITIES": json.dumps(capabilities or {})}
        run(f"ip netns add {name}")
        result = json.loads(run(CLIENT, "add", *self._words, env=self._environment))
        self.address = result["ips"][0]["address"].split("/")[0]

    def delete(self):
        run(CLIENT, "del", *self._words, env=self._environment)
        run("ip", "netns", "delete", Path(self.netns).name)


class Pair:
    """Two pods on one network, one of them with limits."""

    def __init__(self, facts, name, plugins, arguments=((), ()), limits=None):
        self._facts, self._name = facts, name
        container = name.replace(",", "").replace(" ", "-")
        with facts.fact(f"{name}: two pods, one with limits", basis=True):
            self.limited = Pod(plugins, container + "-limited", arguments[0], {"bandwidth": limits or RECEIVED | SENT})
            self.free = Pod(plugins, container + "-free", arguments[1])

    def check_received(self, when=""):
        with self._facts.fact(f"{self._name}: what the pod receives is held to 20 Mbit/s{when}"):
            _check_rate(self.free, self.limited, SHAPED)

    def check_sent(self, when="", least=SHAPED):
        with self._facts.fact(f"{self._name}: what the pod sends is held to 20 Mbit/s{when}"):
            _check_rate(self.limited, self.free, least)

    def delete(self):
        self.limited.delete()
        self.free.delete()


def _check_rate(sender, receiver, least):
    """Other work on the machine makes a flow slower, and none faster: one of some has to reach that part of the limit."""
    ping(sender.netns, receiver.address)
    rates = [0]
    while max(rates) < least * RATE and len(rates) <= FLOWS:
        rates.append(flow(sender.netns, receiver.netns, (receiver.address, 5001), amount=(SKIP, SIZE)))
    told = ", ".join(f"{rate / 1e6:.1f}" for rate in rates[1:])
    assert least * RATE <= max(rates) <= 1.2 * RATE, f"{told} Mbit/s"


def check(facts):
    Transcript("hostPort and bandwidth").next_block(facts)
    plugins = json.loads(Path("/etc/cni/net.d/10-kuryr.conflist").read_text(encoding="utf-8"))["plugins"]
    bridge = Pair(facts, "bridge", plugins)
    bridge.check_received()
    bridge.check_sent()
    bridge.delete()
    with facts.fact("bridge: nothing is left"):
        node.check_clean()
    _check_open_vswitch(facts)


def _check_open_vswitch(facts):
    ovs = node.start_open_vswitch()
    api = node.start_api_server()
    node.PLUGIN.with_name("ovs").symlink_to(node.PLUGIN.name)
    arguments = [api.create_pod(f"pod-{number}", Plan(number)).arguments for number in (11, 12)]
    own = {"type": "kuryr-cni", "capabilities": OWN}
    limits = RECEIVED | SENT if KERNEL_DATAPATH else RECEIVED
    pairs = [Pair(facts, "Open vSwitch, API mode", [own], arguments, limits),
             Pair(facts, "Open vSwitch, local mode", [own | {"kuryr": {"vif": "ovs"}, "ipam": IPAM}], limits=limits),
             Pair(facts, "Open vSwitch, type ovs",
                  [{"type": "ovs", "bridge": "br-int", "capabilities": OWN, "ipam": IPAM}],
                  limits=limits)]
    _check_pairs(pairs)
    for pair in pairs:
        for attack in ATTACKS:
            run("nsenter", f"--net={pair.limited.netns}", *attack.split(), check=False)
    _check_pairs(pairs, " after its root has tried to be rid of it")
    ovs.restart_ovsdb()
    ovs.restart_vswitchd()
    _check_pairs(pairs, " after a restart of Open vSwitch")
    for pair in pairs:
        pair.delete()
    with facts.fact("Open vSwitch: nothing is left"):
        node.check_clean()
        assert not run("ovs-vsctl list QoS") + run("ovs-vsctl list Queue")


def _check_pairs(pairs, when=""):
    for pair in pairs:
        pair.check_received(when)
        if KERNEL_DATAPATH:
            pair.check_sent(when, POLICED)
