"""docs/cluster.md's commands that show whether a cluster's network works, run as they stand there, on two nodes."""
import os

from harness.expectation import expect_same
from harness.kube_api import PODS
from harness.namespaces import WORK
from harness.process import run
from harness.transcript import Transcript
from kubernetes import images
from kubernetes.network_pods import SERVICES

CLIENT = "connectivity-client-"


class ConnectivityCheck:
    def __init__(self, cluster, facts):
        """cluster: TwoNodes, which runs."""
        self.cluster, self.facts, self.fact = cluster, facts, facts.fact

    def state(self):
        os.environ["KUBECONFIG"] = str(self.cluster.admin)
        # The page's name of an address outside.
        page = Transcript("Does it work?", "docs/cluster.md", {"ADDRESS": next(iter(self.cluster.families.values())).outside})
        first, second = (node.name for node in self.cluster.nodes)
        with self.fact("docs/cluster.md: pods of both nodes find that all of the network works", basis=True):
            archive = WORK / "busybox.tar"
            images.pack_busybox(archive)
            for node in self.cluster.nodes:
                node.containerd.import_images(archive)
            page.next_block(self.facts)
        (show,) = page.take_commands()
        if self.cluster.proxy_serves_pods:
            self.break_service(first, second, show)
        with self.fact("docs/cluster.md: they are gone by its command"):
            page.next_block(self.facts)
            page.finish()

    def break_service(self, first, second, show):
        """The names of the nodes, and the command that shows containers."""
        with self.fact("docs/cluster.md: a node whose rules for a Service are missing has that container alone not ready"):
            self.rule("--insert")
            self.wait_for({first: set(), second: {"service"}})
            expect_same({first: [], second: ["service"]}, told_by(show), "what the command shows")
        with self.fact("they are ready again when the rules are back"):
            self.rule("--delete")
            self.wait_for({first: set(), second: set()})

    def rule(self, action):
        """A rule of the second node, by which pods' packets to the Service go past kube-proxy's rules, in each of its modes."""
        address = self.cluster.api.get(f"{SERVICES}/connectivity")["spec"]["clusterIP"]
        program = "ip6tables" if ":" in address else "iptables"
        self.cluster.hosts[1].run(f"{program} --table raw {action} PREROUTING --destination {address} --jump CT --notrack")

    def wait_for(self, wanted):
        """wanted: {node: the containers of its client that are not ready}"""
        self.cluster.api.wait(f"{wanted} are not ready", lambda pods: wanted == {
            pod["spec"]["nodeName"]: {each["name"] for each in pod["status"]["containerStatuses"] if not each["ready"]}
            for (_, name), pod in pods.items() if name.startswith(CLIENT)}, PODS)


def told_by(command):
    """{node: containers} of its lines."""
    return {words[0]: words[1:] for words in map(str.split, run("bash", "-uc", command).splitlines())}
