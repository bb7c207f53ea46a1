"""A node for a storm: Open vSwitch, an API server, kuryr-daemon, and pods whose plans are at the API server already."""
import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cni_conformance.kube_api import TOKEN, Plan
from cni_conformance.kuryr import OvsNode
from cni_conformance.namespaces import run
from cni_conformance.node import WORK, Target
from kuryr_daemon import KuryrDaemon

CONF = {"name": "kuryr", "type": "kuryr-cni"}
ADD_SECONDS = 20  # [cni_daemon] vif_annotation_timeout
OVS_SECONDS = 15


@dataclass(frozen=True)
class Pod:
    name: str
    uid: str
    plan: Plan


class StormNode(OvsNode):
    needs_args = True

    def __init__(self, plugin, daemon, api, shared):
        self.api = api
        (WORK / "token").write_text(TOKEN)
        super().__init__(Target(plugin, CONF, "", ("1.1.0",)), shared)
        self.agent = self.start_agent(daemon)

    def start_agent(self, daemon):
        agent = KuryrDaemon(daemon, self.usual_conf, WORK)
        agent.start()
        return agent

    def options(self):
        return {"kubernetes": {"api_root": self.api.url, "ssl_ca_crt_file": self.api.ca, "token_file": WORK / "token",
                               "node_name": "node1"},
                "cni_daemon": {"vif_annotation_timeout": ADD_SECONDS},
                "os_vif_ovs": {"datapath_type": "netdev", "ovs_vsctl_timeout": OVS_SECONDS}}

    def make_pods(self, count):
        def make(number):
            plan = Plan(number)
            name = f"pod-{number}"
            return Pod(name, self.api.create_pod(name, plan.annotation()), plan)

        with ThreadPoolExecutor(8) as makers:
            return list(makers.map(make, range(10, 10 + count)))

    def describe_pod(self, attachment, pod):
        attachment.pod = pod
        attachment.args = (f"IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME={pod.name};K8S_POD_UID={pod.uid};"
                           f"K8S_POD_INFRA_CONTAINER_ID={attachment.container_id}")

    def record_of(self, attachment):
        return Path(self.attachments_folder(), f"{CONF['name']}:{attachment.container_id}:{attachment.ifname}")

    # ---- what must not change
    def ovs_rows(self):
        """{port's name: its rows, and its bridge}"""
        text = self.vsctl("--retry", "--format=json",
                          "--columns=name,_uuid,type,ofport,external_ids,options,error", "list", "Interface", "--",
                          "--columns=name,_uuid,tag,qos,external_ids,other_config", "list", "Port", "--",
                          "--columns=name,ports", "list", "Bridge")
        interfaces, ports, bridges = ([dict(zip(table["headings"], row)) for row in table["data"]]
                                      for table in map(json.loads, text.splitlines()))
        rows = {row["name"]: {"interface": row} for row in interfaces}
        for port in ports:
            owners = [bridge["name"] for bridge in bridges if port["_uuid"][1] in json.dumps(bridge["ports"])]
            rows.setdefault(port["name"], {}).update(port=port, bridges=owners)
        return rows

    def picture(self, attachment):
        """An attachment, as the kernel and its record have it."""
        inside = [{**{key: link.get(key) for key in ("ifname", "ifindex", "link_index", "address", "mtu", "operstate")},
                   "addresses": sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])}
                  for link in json.loads(attachment.ip("-j", "addr", "show"))]
        host = json.loads(run("ip", "-j", "-d", "link", "show", "dev", attachment.pod.plan.tap))[0]
        return {"inside": inside, "routes": attachment.routes(),
                "host end": {key: host.get(key) for key in ("ifindex", "address", "mtu", "ifalias", "operstate")},
                "up": "UP" in host["flags"], "record": self.record_of(attachment).read_text()}
