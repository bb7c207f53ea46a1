"""Nodes for cases: any plugin's, and those of kuryr-cni, which have what it needs."""
import contextlib
import os
import sys
import tempfile
from pathlib import Path

from cni_conformance.case import NotApplicable
from cni_conformance.needs import Needs
from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_daemon import KuryrDaemon
from harness.kuryr_node import RELEASE, ApiNode, KuryrNode, OvsNode
from harness.namespaces import WORK
from harness.node import Node, Target
from harness.open_vswitch import OpenVSwitch, make_database
from harness.pod import ANNOTATION
from harness.process import run

CAPABILITIES = {name: True for name in ("mac", "ips", "dns", "portMappings", "bandwidth", "deviceID")}
IPAM = {"type": "host-local",
        "ranges": [[{"subnet": "10.22.0.0/24"}], [{"subnet": "fd00:22::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "198.18.0.0/15", "gw": "10.22.0.1"}]}
LOCAL = {"name": "conformance", "type": "kuryr-cni", "debug": False, "mtu": 1450, "capabilities": CAPABILITIES,
         "ipam": IPAM}
API = {"name": "kuryr", "type": "kuryr-cni", "debug": False, "capabilities": CAPABILITIES}
# Debian's host-local ends at 1.0.0. This is what it would be at 1.1.0: GC and STATUS have nothing to do.
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


class AnyNode(Needs, Node):
    pass


class BridgeProfile(Needs, KuryrNode):
    profile = "bridge"

    def __init__(self, target, _):
        super().__init__(target)


class OvsNeeds(Needs):
    profile = "ovs"

    def unplug(self, attachment):
        self.ovs.vsctl("del-port", attachment.host_end()["ifname"])

    def add_foreign_port(self):
        run("ip link add foreign0 type veth peer name foreign1")
        self.ovs.vsctl("add-port", self.ovs.bridge, "foreign0")

    def foreign_port_is_there(self):
        return "foreign0" in self.ovs.column("Port", "name")


class OvsProfile(OvsNeeds, OvsNode):
    def __init__(self, target, shared):
        super().__init__(target, OpenVSwitch(database=shared / "conf.db"))


class ApiProfile(OvsNeeds, ApiNode):
    profile = "api"
    one_interface_a_pod = True

    def __init__(self, target, shared):
        super().__init__(target, FakeApiServer(shared / "tls", WORK / "api.log"), OpenVSwitch(database=shared / "conf.db"))

    def vhost_user_attachment(self):
        self.ovs.start_vswitchd_with_dpdk()
        folder = Path("/run/vhostuser")
        folder.mkdir()
        conf = self.kuryr_conf(mount_point=folder, ovs_vhu_path="/run/openvswitch", drivers="vhostuser")
        return self.attachment(conf={"kuryr_conf": conf}, vhost_user=folder)

    def delete_pod(self, attachment):
        self.api.delete_pod(attachment.pod)

    def take_plan(self, attachment):
        self.api.annotate(attachment.pod, {ANNOTATION: None})

    def stop_api(self):
        self.api.stop()

    def silence_api(self):
        self.api.fault(kind="hang_connections", count=1000)

    def api_host(self):
        return self.api.url.split("/")[2]

    def token(self):
        return (WORK / "token").read_text()

    def refuse_token(self):
        (WORK / "token").write_text("other-token-51d0e2")


class AgentProfile(ApiProfile):
    """With kuryr-daemon: one for each kuryr.conf, since it has its own."""

    def __init__(self, target, shared):
        self.agents = []
        super().__init__(target, shared)

    def options(self):
        return {**super().options(), "cni_daemon": {"bind_address": f"unix:{WORK}/agent-{len(self.agents)}.sock"}}

    def kuryr_conf(self, **changes):
        conf = super().kuryr_conf(**changes)
        self.agents.append(KuryrDaemon(Path(self.target.plugin).with_name("kuryr-daemon"), conf, WORK))
        self.agents[-1].start()
        return conf

    def need_agent(self):
        pass

    def need_no_agent(self):
        raise NotApplicable("the agent answers from what it knows")

    def kill_agents(self):
        for agent in self.agents:
            agent.kill()


PROFILES = {
    "api": (ApiProfile, API),
    "agent": (AgentProfile, API),
    "bridge": (BridgeProfile, {**LOCAL, "isGateway": True, "hairpinMode": True, "kuryr": {"vif": "bridge", "bridge": "cbr0"}}),
    "ovs": (OvsProfile, {**LOCAL, "kuryr": {"vif": "ovs", "bridge": "br-int", "vlan": 7}}),
}


def find_delegates(cni_path):
    for folder in (cni_path or "/usr/lib/cni:/opt/cni/bin").split(":"):
        if os.path.exists(f"{folder}/host-local"):
            return folder
    return sys.exit("tests/conformance: no host-local; Debian's containernetworking-plugins has it, or --cni-path")


@contextlib.contextmanager
def profile(name, plugin, cni_path):
    """(target, node maker) with what all its nodes share."""
    node_class, conf = PROFILES[name]
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
        yield target, lambda found: node_class(found, shared)
