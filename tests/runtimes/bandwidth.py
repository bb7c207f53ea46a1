"""Debian's bandwidth behind kuryr-cni, by libcni and with traffic: on a bridge, on Open vSwitch's ports, and on these
after ovs-vswitchd was started again."""
import json
import os
from pathlib import Path

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
LIMITS = {"bandwidth": {"ingressRate": RATE, "ingressBurst": BURST, "egressRate": RATE, "egressBurst": BURST}}


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

    def __init__(self, facts, name, plugins, arguments=((), ())):
        self._facts, self._name = facts, name
        container = name.replace(",", "").replace(" ", "-")
        with facts.fact(f"{name}: two pods, one with limits", basis=True):
            self.limited = Pod(plugins, container + "-limited", arguments[0], LIMITS)
            self.free = Pod(plugins, container + "-free", arguments[1])

    def check_received(self, when=""):
        with self._facts.fact(f"{self._name}: what the pod receives is held to 20 Mbit/s{when}"):
            _check_rate(self.free, self.limited)

    def check_sent(self):
        """Not on Open vSwitch, which deletes that limit when the link changes (docs/runtimes.md)."""
        with self._facts.fact(f"{self._name}: what the pod sends is held to 20 Mbit/s"):
            _check_rate(self.limited, self.free)

    def delete(self):
        self.limited.delete()
        self.free.delete()


def _check_rate(sender, receiver):
    """Other work on the machine makes a flow slower, and none faster: one of some has to reach the limit."""
    ping(sender.netns, receiver.address)
    rates = [0]
    while max(rates) < 0.8 * RATE and len(rates) <= FLOWS:
        rates.append(flow(sender.netns, receiver.netns, (receiver.address, 5001), amount=(SKIP, SIZE)))
    told = ", ".join(f"{rate / 1e6:.1f}" for rate in rates[1:])
    assert 0.8 * RATE <= max(rates) <= 1.2 * RATE, f"{told} Mbit/s"


def check(facts):
    Transcript("hostPort and bandwidth").next_block(facts)
    plugins = json.loads(Path("/etc/cni/net.d/10-kuryr.conflist").read_text(encoding="utf-8"))["plugins"]
    bridge = Pair(facts, "bridge", plugins)
    bridge.check_received()
    bridge.check_sent()
    bridge.delete()
    with facts.fact("bridge: nothing is left"):
        node.check_clean()
    _check_open_vswitch(facts, plugins[-1])


def _check_open_vswitch(facts, shaper):
    """`shaper`: the plugin behind kuryr-cni."""
    ovs = node.start_open_vswitch()
    api = node.start_api_server()
    arguments = [api.create_pod(f"pod-{number}", Plan(number)).arguments for number in (11, 12)]
    local = {"type": "kuryr-cni", "kuryr": {"vif": "ovs"},
             "ipam": {"type": "host-local", "ranges": [[{"subnet": "10.23.0.0/16"}]]}}
    pairs = [Pair(facts, "Open vSwitch, API mode", [{"type": "kuryr-cni"}, shaper], arguments),
             Pair(facts, "Open vSwitch, local mode", [local, shaper])]
    for pair in pairs:
        pair.check_received()
    ovs.restart_vswitchd()
    for pair in pairs:
        pair.check_received(" after a restart of ovs-vswitchd")
        pair.delete()
    with facts.fact("Open vSwitch: nothing is left"):
        node.check_clean()
