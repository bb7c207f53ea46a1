"""docs/quickstart-local.md's commands, and those of docs/install.md, docs/controller.md and docs/operations.md: run as they stand."""
import json
import re
from pathlib import Path

from harness import namespaces
from harness.expectation import nothing
from harness.host import HERE
from harness.process import run
from harness.transcript import Transcript
from kubernetes.images import BUSYBOX
from kubernetes.page_steps import PagePods, ssh_to, wait_until_undone

PAGE = Path("docs/quickstart-local.md")
NODE = "node1"
NODES = {"NODES": NODE}


class QuickStart:
    def __init__(self, checks):
        """checks: KubeletFacts, on a node whose containerd runs."""
        self.checks, self.fact, self.facts = checks, checks.fact, checks.facts
        self.stand_ins = checks.release.stand_ins
        self.install = Transcript("In Kubernetes", "docs/install.md", self.stand_ins)
        (self.store,) = self.install.take_commands()
        ssh_to({NODE: []})

    def load_image(self):
        self.whole(Transcript("2. Load the image on all nodes", str(PAGE), NODES))
        # The pods' image stands for this one: no registry is asked.
        run("ctr", "-n", "k8s.io", "images", "tag", "localhost/busybox:1", BUSYBOX)
        with self.fact("docs/install.md says how large the image is"):
            size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", "docker.io/library/kuryr-cni:1.0.0"))
            told = re.search(r"\bIt has (\d+) MB", Path("docs/install.md").read_text(encoding="utf-8"))[1]
            assert abs(size / 1e6 - int(told)) <= 1, f"{size} bytes, on the page {told} MB"

    def store_options(self, text):
        """Both controllers are new when it returns."""
        Path(namespaces.WORK, "own.conf").write_text(text)
        run("bash", "-uc", self.store, cwd=namespaces.WORK)
        for words in ("restart", "status"):
            run(f"kubectl --namespace=kube-system rollout {words} deployment/kuryr-controller")

    def apply_agent(self):
        self.whole(self.install)

    def apply_all(self):
        """What the quick start applies, and what docs/controller.md has in its place."""
        with self.fact(f"{PAGE}: the manifests are applied, and their programs become ready", basis=True):
            page = Transcript("3. Apply the manifests", str(PAGE), self.stand_ins)
            page.next_block(self.facts)
        self.whole(page)
        with self.fact("docs/controller.md: the same by its command"):
            self.whole(Transcript("Start it in Kubernetes", "docs/controller.md", self.stand_ins))

    def whole(self, section):
        """A section's last block."""
        section.next_block(self.facts)
        section.finish()

    def two_pods(self):
        pods = PagePods(str(PAGE), self.facts)
        pods.start()
        with self.fact("docs/install.md: the agent is ready, shows its pods, and kuryr-cni decode the plan of one"):
            self.whole(Transcript("Is it well?", "docs/install.md"))
        with self.fact("docs/operations.md: kuryr-cni doctor, in the agent's container, finds nothing to fix"):
            self.whole(Transcript("Check a node", "docs/operations.md"))
        pods.close_and_open()

    # ---- the end
    def undo(self):
        """On a cluster without kuryr-controller, whose node another page has changed."""
        run("kubectl --namespace=kube-system delete configmap kuryr-own")
        run("kubectl --namespace=kube-system rollout restart daemonset/kuryr-daemon")
        with self.fact(f"{PAGE}: the manifests are applied once more", basis=True):
            Transcript("3. Apply the manifests", str(PAGE), self.stand_ins).next_block(self.facts)
            assert "kuryr0" in links(), "no management port"
        with self.fact(f"{PAGE}: its last commands leave neither objects of the API nor anything on the node"):
            self.whole(Transcript("Undo it all", str(PAGE), {**NODES, **self.stand_ins}))
            wait_until_undone([HERE], but=["daemonset.apps/kuryr-cni-ds", "configmap/kuryr-devices"])
            nothing({"kuryr0", "br-int"} & links(), "links")


def links():
    return {each["ifname"] for each in json.loads(run("ip -json link"))}
