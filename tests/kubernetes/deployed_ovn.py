"""A cluster of three nodes on OVN by etc/kubernetes and docs/quickstart-ovn.md: all of OVN and of kuryr-cni are pods."""
import os
import shutil
import subprocess
from pathlib import Path

import yaml

from harness.container_image import Layer
from harness.namespaces import WORK
from harness.process import run
from harness.transcript import Transcript
from kubernetes import images, ovn_image
from kubernetes.controllers import is_true, of_app
from kubernetes.network import in_url
from kubernetes.ovn_nodes import OvnNodes
from kubernetes.page_steps import ssh_to
from kubernetes.two_nodes import BASE
from ovn.central import NORTHBOUND_PORT, SOUTHBOUND_PORT

PAGE = Path("docs/quickstart-ovn.md")
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
CENTRAL = "ovn-central"
KEYS = "/run/kuryr/ovn/current"
PODS = "/api/v1/namespaces/kube-system/pods"
SCHEMAS = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}
# Of a member: of both databases, for Raft, and for nodes.
PORTS = range(NORTHBOUND_PORT, 6646)


class DeployedOvn(OvnNodes):
    names = ("node1", "node2", "node3")

    def __init__(self, release, options, facts):
        """facts: those of the page's commands."""
        super().__init__(release, options)
        self.facts, self.stand_ins = facts, {"NODES": " ".join(self.names), **release.stand_ins}
        os.environ["KUBECONFIG"] = str(self.api.write_kubeconfig(WORK / "ovn.kubeconfig"))
        ssh_to({host.name: host.entry for host in self.hosts})
        archive = WORK / "busybox.tar"
        images.pack_busybox(archive)
        for node in self.nodes:
            node.containerd.import_images(archive)
        self.load_images(Layer())
        if 4 not in self.families:
            self._edit_manifests()

    def _make_node(self, host):
        node = super()._make_node(host)
        host.path("/opt/cni/bin/kuryr-cni").unlink()
        return node

    @staticmethod
    def _edit_manifests():
        """As the user of Services of IPv6 does. The repository's own files stay as they are."""
        copies = WORK / "manifests"
        shutil.copytree(BASE, copies)
        run("mount", "--bind", copies, BASE)
        for each in Transcript("In Kubernetes", "docs/ovn.md").take_commands():
            run("bash", "-uc", each)

    def _manifests(self):
        """The page applies them; the user's own options are there before."""
        return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "kuryr-own", "namespace": "kube-system"},
                               "data": {"own.conf": f"[node_network]\nservice_cidrs = {', '.join(self.network.services)}\n"}})

    def load_images(self, layer):
        """On all nodes; OVN's with the programs of that layer's root."""
        ovn_image.prepare(WORK, layer)
        page = Transcript("2. Load the images on all nodes", str(PAGE), self.stand_ins)
        page.next_block(self.facts)
        page.finish()

    def start(self):
        """Kubernetes' programs, and whatever the page applies."""
        self.start_kubernetes()
        page = Transcript("3. Apply the manifests", str(PAGE), self.stand_ins)
        page.next_block(self.facts)
        page.next_block(self.facts)
        page.finish()
        self.wait_until_ready()

    def start_controller(self):
        """The page applies it."""

    @staticmethod
    def chassis_of(node):
        return node.ovs.vsctl("get", "Open_vSwitch", ".", "external_ids:system-id").strip().strip('"')

    def key_of(self, node, folder=None):
        """The options for the key of the node's ovn-controller, or for one in that folder."""
        folder = folder or node.host.path(KEYS)
        authority = WORK / "ovn-authority.crt"
        authority.write_text(self.api.get(f"{CONFIG_MAPS}/ovn-authority")["data"]["ca.crt"])
        return f"--private-key={folder}/tls.key", f"--certificate={folder}/tls.crt", f"--ca-cert={authority}"

    def undo(self):
        page = Transcript("Undo it all", str(PAGE), self.stand_ins)
        page.next_block(self.facts)
        page.finish()

    # ---- the members
    def members(self):
        """{name: pod}, of StatefulSet ovn-central."""
        return {pod["metadata"]["name"]: pod for pod in of_app(self.api.get(PODS)["items"], CENTRAL)}

    def wait_for_members(self, but=()):
        """Until all are ready; but: uids of pods that count no more."""
        def all_ready(pods):
            members = of_app(pods.values(), CENTRAL)
            return len(members) == len(self.names) and all(
                is_true(each, "Ready") and each["metadata"]["uid"] not in but for each in members)
        self.api.wait("all members are ready", all_ready, PODS)

    def node_of(self, pod):
        return next(node for node in self.nodes if node.name == pod["spec"]["nodeName"])

    def execute(self, pod, container, *command):
        """The exit status and the output of a command in a member's container."""
        (found,) = [each for each in pod["status"]["containerStatuses"] if each["name"] == container]
        code, said, errors = self.node_of(pod).cri.exec_sync(found["containerID"].removeprefix("containerd://"), list(command))
        return code, said + errors

    def status(self, pod, database):
        """What a member's server tells of the cluster."""
        return self.execute(pod, database, "ovs-appctl", "-t", f"/run/ovn/ovn{database}_db.ctl", "cluster/status", SCHEMAS[database])[1]

    def servers(self, pod, database):
        """The ids of the cluster's servers, as a member tells."""
        _, _, listed = self.status(pod, database).partition("\nServers:\n")
        return {line.split()[0] for line in listed.splitlines() if line.strip()}

    def schema_version(self, pod, database):
        """Of a member's database."""
        return self.execute(pod, database, "ovsdb-client", "get-schema-version", f"unix:/run/ovn/ovn{database}_db.sock",
                            SCHEMAS[database])[1].strip()

    def ports_of(self, node, folder=None):
        """Those of a member that the node's key opens, or one in that folder."""
        pod, *_ = self.members().values()
        server = in_url(pod["status"]["podIP"])
        key = self.key_of(node, folder)
        return [port for port in PORTS if run("ovsdb-client", *key, "--timeout=10", "list-dbs", f"ssl:{server}:{port}", check=False)]

    def change_southbound(self, node, *words):
        """With the node's key; returns what ovn-sbctl says against it."""
        pod, *_ = self.members().values()
        remote = f"ssl:{in_url(pod['status']['podIP'])}:{SOUTHBOUND_PORT}"
        return subprocess.run(["ovn-sbctl", f"--db={remote}", *self.key_of(node), "--no-leader-only", "--timeout=10", *words],
                              text=True, capture_output=True, check=False).stderr

    def leader(self, database):
        (pod,) = [pod for pod in self.members().values() if "\nRole: leader\n" in self.status(pod, database)]
        return pod
