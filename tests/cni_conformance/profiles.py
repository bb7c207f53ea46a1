"""Nodes of kuryr-cni for cases, with the services that each profile needs."""
import contextlib
import os
import sys
import tempfile
from pathlib import Path

from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr import Kuryr
from harness.kuryr_daemon import KuryrDaemon
from harness.kuryr_node import RELEASE
from harness.namespaces import WORK
from harness.node import Node, Target
from harness.open_vswitch import OpenVSwitch, make_database
from harness.planned_pods import PlannedPods

CAPABILITIES = {name: True for name in ("mac", "ips", "dns", "portMappings", "bandwidth", "deviceID")}
IPAM = {"type": "host-local",
        "ranges": [[{"subnet": "10.22.0.0/24"}], [{"subnet": "fd00:22::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "198.18.0.0/15", "gw": "10.22.0.1"}]}
# A bridge leaves limits to CNI's plugin bandwidth behind kuryr-cni.
WITHOUT_BANDWIDTH = {name: True for name in CAPABILITIES if name != "bandwidth"}
LOCAL = {"name": "conformance", "type": "kuryr-cni", "debug": False, "mtu": 1450, "capabilities": CAPABILITIES,
         "ipam": IPAM}
API = {"name": "kuryr", "type": "kuryr-cni", "debug": False, "capabilities": CAPABILITIES}
# Debian's host-local ends at 1.0.0. This script makes a host-local of 1.1.0 from it: GC and STATUS have nothing to do.
NEWER_HOST_LOCAL = r"""#!/bin/sh
if [ "$CNI_COMMAND" = VERSION ]; then
  echo '{"cniVersion":"1.1.0","supportedVersions":["0.1.0","0.2.0","0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"]}'
  exit
fi
conf=$(cat)
case $conf in
  *'"cniVersion":"1.1.0"'* | *'"cniVersion": "1.1.0"'*) ;;
  *) printf %s "$conf" | {program}; exit ;;
esac
case $CNI_COMMAND in GC | STATUS) exit 0 ;; esac
result=$(printf %s "$conf" | sed 's/"cniVersion": *"1\.1\.0"/"cniVersion":"1.0.0"/g' | {program})
status=$?
[ -z "$result" ] || printf '%s\n' "$result" | sed 's/"cniVersion": *"1\.0\.0"/"cniVersion": "1.1.0"/'
exit $status
"""


class Agents:
    """kuryr-daemons of a node: one for each kuryr.conf, which it reads at its start."""

    def __init__(self, program):
        self.program, self.all = program, []

    def next_address(self):
        return f"unix:{WORK}/agent-{len(self.all)}.sock"

    def start(self, conf):
        self.all.append(KuryrDaemon(self.program, conf))
        self.all[-1].start()

    def kill(self):
        for agent in self.all:
            agent.kill()


# ---- nodes of kuryr-cni. shared: the folder of what all nodes of a profile have
def bridge_node(target, _):
    return Node(target, kuryr=Kuryr())


def ovs_node(target, shared):
    ovs = OpenVSwitch(database=shared / "conf.db")
    return Node(target, ovs=ovs, kuryr=Kuryr(ovs))


def api_node(target, shared, sections=None, **agents):
    """sections: kuryr.conf's, as Kuryr takes them."""
    ovs, pods = OpenVSwitch(database=shared / "conf.db"), PlannedPods(FakeApiServer(shared / "tls", WORK / "api.log"))
    return Node(target, ovs=ovs, pods=pods, **agents, kuryr=Kuryr(ovs, pods, **agents, **(sections or {})))


def agent_node(target, shared):
    # An agent that repairs would mend what a case breaks before its CHECK looks.
    agents = Agents(Path(target.plugin).with_name("kuryr-daemon"))
    return api_node(target, shared, sections={"cni_daemon": {"repair": "report"}}, agents=agents)


PROFILES = {
    "api": (api_node, API),
    "agent": (agent_node, API),
    "bridge": (bridge_node, {**LOCAL, "capabilities": WITHOUT_BANDWIDTH, "isGateway": True, "hairpinMode": True,
                             "kuryr": {"vif": "bridge", "bridge": "cbr0"}}),
    "ovs": (ovs_node, {**LOCAL, "kuryr": {"vif": "ovs", "bridge": "br-int", "vlan": 7}}),
}


def find_delegates(cni_path):
    for folder in (cni_path or "/usr/lib/cni:/opt/cni/bin").split(":"):
        if os.path.exists(f"{folder}/host-local"):
            return folder
    return sys.exit("tests/conformance: no host-local; Debian's containernetworking-plugins has it, or --cni-path")


@contextlib.contextmanager
def profile(name, plugin, cni_path):
    """(target, node maker) with what all its nodes share."""
    make_node, conf = PROFILES[name]
    delegates = find_delegates(cni_path)
    with tempfile.TemporaryDirectory(prefix="kuryr-conformance-") as folder:
        shared = Path(folder)
        wrapper = shared / "delegates" / "host-local"
        wrapper.parent.mkdir()
        wrapper.write_text(NEWER_HOST_LOCAL.replace("{program}", f"{delegates}/host-local"))
        wrapper.chmod(0o755)
        make_database(shared / "conf.db")
        make_certificates(shared / "tls")
        target = Target(os.path.abspath(plugin or RELEASE / "kuryr-cni"), conf, f"{wrapper.parent}:{delegates}")
        yield target, lambda found: make_node(found, shared)
