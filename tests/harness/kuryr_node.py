"""Nodes for kuryr-cni: with Open vSwitch, with an API server, with kuryr-daemon, as each class says."""
import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness.expectation import Failed
from harness.kube_api import TOKEN
from harness.kuryr_daemon import KuryrDaemon
from harness.namespaces import WORK
from harness.node import Node, Target
from harness.open_vswitch import OpenVSwitch
from harness.pod import Plan
from harness.process import REPOSITORY, run

RELEASE = REPOSITORY / "build/release/bin"
SECTIONS = {"vif_annotation_timeout": "cni_daemon", "daemon_enabled": "cni_daemon", "ovs_vsctl_timeout": "os_vif_ovs",
            "mount_point": "vhostuser", "ovs_vhu_path": "vhostuser", "drivers": "binding"}
ATTACHMENTS = Path("/run/kuryr/attachments")


def kuryr_target(plugin=RELEASE / "kuryr-cni"):
    """In API mode, as etc/10-kuryr.conflist has it."""
    return Target(str(plugin), {"name": "kuryr", "type": "kuryr-cni"}, supported=("1.1.0",))


class KuryrNode(Node):
    """kuryr.conf, and the records of attachments."""

    def __init__(self, target):
        super().__init__(target)
        self.usual_conf = self.kuryr_conf()

    def conf(self, **changes):
        return super().conf(**{"kuryr_conf": self.usual_conf, **changes})

    def options(self):
        """Of kuryr.conf: {section: {name: value}}"""
        return {}

    def kuryr_conf(self, **changes):
        """The path of one with these changes, names as in SECTIONS."""
        options = {name: dict(values) for name, values in self.options().items()}
        for name, value in changes.items():
            options.setdefault(SECTIONS[name], {})[name] = value
        path = WORK / f"kuryr-{self.number()}.conf"
        path.write_text("".join(f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items())
                                for name, values in options.items()))
        return str(path)

    @staticmethod
    def attachments_folder():
        return str(ATTACHMENTS)

    def records(self):
        return {f"record {file.name}" for file in ATTACHMENTS.iterdir()} if ATTACHMENTS.is_dir() else set()

    def record_of(self, attachment):
        return ATTACHMENTS / f"{self.target.conf['name']}:{attachment.container_id}:{attachment.ifname}"

    def remains(self):
        return super().remains() | self.records()


class OvsNode(KuryrNode):
    def __init__(self, target, ovs=None):
        """ovs: an OpenVSwitch; where none is given it makes one, in userspace with br-int."""
        self.ovs = ovs or OpenVSwitch()
        super().__init__(target)

    def options(self):
        return {"os_vif_ovs": {"datapath_type": self.ovs.datapath}}

    def remains(self):
        return super().remains() | self.ovs.rows()

    def switch_links(self):
        return {self.ovs.bridge, "ovs-netdev"}

    def switch_picture(self):
        return self.ovs.picture()


class ApiNode(OvsNode):
    """With an API server, whose pods have the plans of their attachments. The plugin works alone."""

    needs_args = True

    def __init__(self, target, api, ovs=None):
        """api: a KubeApi."""
        self.api = api
        (WORK / "token").write_text(TOKEN)
        super().__init__(target, ovs)

    def options(self):
        return {**super().options(), "kubernetes": {"api_root": self.api.url, "ssl_ca_crt_file": self.api.ca,
                                                    "token_file": WORK / "token", "node_name": "node1"}}

    # ---- pods
    def make_pod(self, plan=True, **port):
        """plan: whether it has its annotation already; port: Plan's options."""
        number = self.number() + 10
        return self.api.create_pod(f"pod-{number}", Plan(number, **port), None if plan else {})

    def make_pods(self, count):
        with ThreadPoolExecutor(8) as makers:
            return list(makers.map(lambda _: self.make_pod(), range(count)))

    def describe_pod(self, attachment, pod=None, **options):
        """pod: one that is there; options: of make_pod() else."""
        attachment.pod = pod or self.make_pod(**options)
        # In any order, as containerd sends them.
        attachment.args = ";".join({*attachment.pod.arguments, f"K8S_POD_INFRA_CONTAINER_ID={attachment.container_id}"})

    def wait_for_port(self, attachment):
        """Until its ADD has plugged it, and waits for it to become active."""
        try:
            self.ovs.vsctl("wait-until", "Interface", attachment.pod.plan.tap, "ofport>0")
        except subprocess.CalledProcessError:
            raise Failed("the ADD has not plugged its port") from None

    def activate(self, attachment):
        attachment.pod.plan.active = True
        self.api.annotate(attachment.pod)

    def picture(self, attachment):
        """As the kernel and its record have it: what nobody may change while the pod runs."""
        inside = [{**{key: link.get(key) for key in ("ifname", "ifindex", "link_index", "address", "mtu", "operstate")},
                   "addresses": sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])}
                  for link in json.loads(attachment.ip("-j", "addr", "show"))]
        host = json.loads(run("ip", "-j", "-d", "link", "show", "dev", attachment.pod.plan.tap))[0]
        return {"inside": inside, "routes": attachment.routes(),
                "host end": {key: host.get(key) for key in ("ifindex", "address", "mtu", "ifalias", "operstate")},
                "up": "UP" in host["flags"], "record": self.record_of(attachment).read_text()}


class AgentNode(ApiNode):
    """With kuryr-daemon, too, which serves the plugin's calls."""

    def __init__(self, target, api, ovs=None, daemon=None):
        """daemon: its file; the plugin's neighbour where not given."""
        super().__init__(target, api, ovs)
        self.daemon = daemon or Path(target.plugin).with_name("kuryr-daemon")
        self.start_agent()

    def start_agent(self):
        self.agent = KuryrDaemon(self.daemon, self.usual_conf, WORK)
        self.agent.start()
