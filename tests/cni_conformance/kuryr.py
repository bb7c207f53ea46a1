"""Profiles of kuryr-cni: nodes that have what it needs."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from .case import Failed, NotApplicable
from .kube_api import REPOSITORY, TOKEN, KubeApi, Plan, make_certificates
from .namespaces import run
from .node import WORK, Node, Target
from .open_vswitch import OpenVSwitch, make_database

SECTIONS = {"vif_annotation_timeout": "cni_daemon", "daemon_enabled": "cni_daemon", "ovs_vsctl_timeout": "os_vif_ovs",
            "mount_point": "vhostuser", "ovs_vhu_path": "vhostuser"}
CAPABILITIES = {name: True for name in ("mac", "ips", "dns", "portMappings", "bandwidth", "deviceID")}
IPAM = {"type": "host-local",
        "ranges": [[{"subnet": "10.22.0.0/24"}], [{"subnet": "fd00:22::/64"}]],
        "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}, {"dst": "198.18.0.0/15", "gw": "10.22.0.1"}]}
LOCAL = {"name": "conformance", "type": "kuryr-cni", "debug": False, "mtu": 1450, "capabilities": CAPABILITIES,
         "ipam": IPAM}
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


class KuryrNode(Node):
    """What is common: kuryr.conf and the records."""

    uses_ovs = False

    def __init__(self, target, shared):
        super().__init__(target)
        self.shared = shared
        self.ovs = OpenVSwitch(shared / "conf.db", self.bridge) if self.uses_ovs else None
        self.usual_conf = self.kuryr_conf()

    def conf(self, **changes):
        return super().conf(**{"kuryr_conf": self.usual_conf, **changes})

    def options(self):
        """Of kuryr.conf, by section."""
        return {"os_vif_ovs": {"datapath_type": "netdev"}} if self.uses_ovs else {}

    def kuryr_conf(self, **changes):
        options = {name: dict(values) for name, values in self.options().items()}
        for name, value in changes.items():
            options.setdefault(SECTIONS[name], {})[name] = value
        path = WORK / f"kuryr-{self.number()}.conf"
        path.write_text("".join(f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items())
                                for name, values in options.items()))
        return str(path)

    @staticmethod
    def attachments_folder():
        return "/run/kuryr/attachments"

    def records(self):
        folder = Path(self.attachments_folder())
        return {f"record {file.name}" for file in folder.iterdir()} if folder.is_dir() else set()

    def remains(self):
        return super().remains() | self.records() | (self.ovs.rows() if self.ovs else set())

    def lose_state(self):
        super().lose_state()
        shutil.rmtree("/run/kuryr", ignore_errors=True)


class BridgeNode(KuryrNode):
    profile = "bridge"
    bridge = "cbr0"


class OvsNode(KuryrNode):
    profile = "ovs"
    bridge = "br-int"
    uses_ovs = True

    def __getattr__(self, name):
        # stop_vswitchd, start_ovsdb, vsctl, make_bridge, ...
        if name.startswith(("stop_", "start_", "make_")) or name == "vsctl":
            return getattr(self.ovs, name)
        raise AttributeError(name)

    def switch_links(self):
        return {self.bridge, "ovs-netdev"}

    def switch_picture(self):
        return self.ovs.picture()

    def unplug(self, attachment):
        self.vsctl("del-port", attachment.host_end()["ifname"])

    def add_foreign_port(self):
        run("ip", "link", "add", "foreign0", "type", "veth", "peer", "name", "foreign1")
        self.vsctl("add-port", self.bridge, "foreign0")

    def foreign_port_is_there(self):
        return "foreign0" in self.ovs.column("Port", "name")


class ApiNode(OvsNode):
    """With an API server, whose pods have the plans of their attachments."""

    profile = "api"
    needs_args = True
    one_interface_a_pod = True

    def __init__(self, target, shared):
        WORK.mkdir(exist_ok=True)
        self.api = KubeApi(str(shared / "tls"), WORK / "api.log")
        (WORK / "token").write_text(TOKEN)
        super().__init__(target, shared)

    def options(self):
        return {**super().options(), "kubernetes": {"api_root": self.api.url, "ssl_ca_crt_file": self.api.ca,
                                                     "token_file": WORK / "token"}}

    def describe_pod(self, attachment, plan=True, **port):
        number = self.number() + 10
        attachment.pod = f"pod-{number}"
        attachment.plan = Plan(number, **port)
        attachment.mac, attachment.first_address = attachment.plan.mac, attachment.plan.address + "/16"
        uid = self.api.create_pod(attachment.pod, attachment.plan.annotation() if plan else {})
        # In any order, as containerd sends them.
        pairs = {"IgnoreUnknown=1", "K8S_POD_NAMESPACE=default", f"K8S_POD_NAME={attachment.pod}", f"K8S_POD_UID={uid}",
                 f"K8S_POD_INFRA_CONTAINER_ID={attachment.container_id}"}
        attachment.args = ";".join(pairs)

    def vhost_user_attachment(self):
        self.ovs.start_vswitchd_with_dpdk()
        folder = Path("/run/vhostuser")
        folder.mkdir()
        conf = self.kuryr_conf(mount_point=folder, ovs_vhu_path="/run/openvswitch")
        return self.attachment(conf={"kuryr_conf": conf}, vhost_user=folder)

    def delete_pod(self, attachment):
        self.api.delete_pod(attachment.pod)

    def take_plan(self, attachment):
        self.api.annotate(attachment.pod, {"openstack.org/kuryr-vif": None})

    def activate(self, attachment):
        attachment.plan.active = True
        self.api.annotate(attachment.pod, attachment.plan.annotation())

    def wait_for_port(self, attachment):
        """Until its ADD has plugged it, and waits for it to become active."""
        try:
            self.vsctl("wait-until", "Interface", attachment.plan.tap, "ofport>0")
        except subprocess.CalledProcessError:
            raise Failed("the ADD has not plugged its port") from None

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


class AgentNode(ApiNode):
    """With kuryr-daemon, which serves the plugin's calls: one for each kuryr.conf, since it has its own."""

    def __init__(self, target, shared):
        self.agents = []
        super().__init__(target, shared)

    def options(self):
        options = super().options()
        options["kubernetes"]["node_name"] = "node1"
        options["cni_daemon"] = {"bind_address": f"unix:{WORK}/agent-{len(self.agents)}.sock"}
        return options

    def kuryr_conf(self, **changes):
        conf = super().kuryr_conf(**changes)
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
            address = str(WORK / f"ready-{len(self.agents)}")
            ready.bind(address)
            ready.settimeout(30)
            with open(WORK / "agent.log", "ab") as log:
                self.agents.append(subprocess.Popen([self.agent_program(), "--config-file", conf], stderr=log,
                                                    env={**os.environ, "NOTIFY_SOCKET": address}))
            ready.recv(100)
        return conf

    def agent_program(self):
        return Path(self.target.plugin).with_name("kuryr-daemon")

    def need_agent(self):
        pass

    def need_no_agent(self):
        raise NotApplicable("the agent answers from what it knows")

    def kill_agents(self):
        for agent in self.agents:
            agent.kill()
            agent.wait()


PROFILES = {
    "api": (ApiNode, {"name": "kuryr", "type": "kuryr-cni", "debug": False, "capabilities": CAPABILITIES}),
    "agent": (AgentNode, {"name": "kuryr", "type": "kuryr-cni", "debug": False, "capabilities": CAPABILITIES}),
    "bridge": (BridgeNode, {**LOCAL, "isGateway": True, "hairpinMode": True, "kuryr": {"vif": "bridge", "bridge": "cbr0"}}),
    "ovs": (OvsNode, {**LOCAL, "kuryr": {"vif": "ovs", "bridge": "br-int", "vlan": 7}}),
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
        if node_class.uses_ovs:
            make_database(shared / "conf.db")
        if name in ("api", "agent"):
            make_certificates(shared / "tls")
        program = os.path.abspath(plugin or REPOSITORY / "build/release/bin/kuryr-cni")
        target = Target(program, json.loads(json.dumps(conf)), f"{wrapper.parent}:{delegates}")
        yield target, lambda found: node_class(found, shared)
