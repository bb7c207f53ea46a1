"""A cluster of three nodes on OVN by etc/kubernetes: its StatefulSet's pods keep the databases by Raft and ssl, and its DaemonSet's pods
are ovn-controllers."""
import base64
import os
import shutil

import yaml

from harness.container_image import Layer
from harness.namespaces import WORK
from harness.process import run
from harness.transcript import Transcript
from kubernetes import ovn_image
from kubernetes.controllers import is_true, of_app
from kubernetes.network import in_url
from kubernetes.ovn_nodes import OvnNodes
from kubernetes.two_nodes import BASE, TwoNodes
from ovn.central import NORTHBOUND_PORT, SOUTHBOUND_PORT

SECRETS = "/api/v1/namespaces/kube-system/secrets"
ROLES = ("central", "controller", "host")
CENTRAL = "ovn-central"
WITHOUT_PODS = {("DaemonSet", "kuryr-daemon"), ("Deployment", "kuryr-controller")}
PODS = "/api/v1/namespaces/kube-system/pods"
SCHEMAS = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}


class DeployedOvn(OvnNodes):
    names = ("node1", "node2", "node3")

    def __init__(self, release, options):
        super().__init__(release, options)
        self.page = Transcript("In Kubernetes", "docs/ovn.md", release.stand_ins)
        self.build_image = self.page.take_commands()[0]
        self.load_image(Layer())
        kubeconfig = self.api.write_kubeconfig(WORK / "ovn.kubeconfig")
        os.environ["KUBECONFIG"] = str(kubeconfig)
        make_secrets, apply = self.page.take_commands()
        run(make_secrets)
        self.overlay = apply.split()[-1]
        (to_ipv6,) = self.page.take_commands()
        if 4 not in self.families:
            self._edit_manifests(to_ipv6)
        for role in ROLES:
            self.tls(role).mkdir()
            for name, content in self.api.get(f"{SECRETS}/ovn-tls-{role}")["data"].items():
                (self.tls(role) / name).write_bytes(base64.b64decode(content))

    def load_image(self, layer):
        """OVN's image on all nodes, with the programs of that layer's root."""
        archive = ovn_image.build(WORK, self.build_image, layer)
        for node in self.nodes:
            node.containerd.import_images(archive)

    @staticmethod
    def tls(role):
        """A folder with the files of the role's Secret."""
        return WORK / f"ovn-tls-{role}"

    def start(self):
        TwoNodes.start(self)

    @staticmethod
    def _edit_manifests(command):
        """The repository's own files stay as they are."""
        copies = WORK / "manifests"
        shutil.copytree(BASE, copies)
        run("mount", "--bind", copies, BASE)
        run("bash", "-uc", command)

    def _manifests(self):
        """docs/ovn.md's overlay. Its kuryr-daemon and kuryr-controller have no pods here."""
        objects = yaml.safe_load_all(run("kubectl", "kustomize", self.overlay))
        return yaml.safe_dump_all(each for each in objects if (each["kind"], each["metadata"]["name"]) not in WITHOUT_PODS)

    def _conf_files(self, program):
        return [*super()._conf_files(program), BASE / "ovn/backend.conf"]

    def _controller_changes(self):
        """Its files are in the Secret's folder, which pods have."""
        folder = self.tls("controller")
        return {"ovn": {"nb_private_key": folder / "tls.key", "nb_certificate": folder / "tls.crt", "nb_ca_cert": folder / "ca.crt"}}

    def _agent_changes(self):
        return {}

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

    def databases_of(self, role):
        """What its key opens."""
        folder, (pod, *_) = self.tls(role), self.members().values()
        server = in_url(pod["status"]["podIP"])
        files = f"--private-key={folder}/tls.key", f"--certificate={folder}/tls.crt", f"--ca-cert={folder}/ca.crt"
        return [schema for schema, port in zip(SCHEMAS.values(), (NORTHBOUND_PORT, SOUTHBOUND_PORT))
                if schema in run("ovsdb-client", *files, "--timeout=10", "list-dbs", f"ssl:{server}:{port}", check=False)]

    def leader(self, database):
        (pod,) = [pod for pod in self.members().values() if "\nRole: leader\n" in self.status(pod, database)]
        return pod
