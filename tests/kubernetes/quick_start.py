"""README.md's commands for a cluster, and those of docs/install.md and docs/controller.md: run as they stand there."""
import re
from pathlib import Path

from harness import namespaces
from harness.kube_api import PODS
from harness.process import run
from harness.transcript import Transcript
from kubernetes.images import BUSYBOX

NAMES = ("one", "two")


class QuickStart:
    def __init__(self, checks):
        """checks: KubeletFacts, on a node whose containerd runs."""
        self.checks, self.fact, self.facts = checks, checks.fact, checks.facts
        self.stand_ins = checks.release.stand_ins
        self.install = Transcript("In Kubernetes", "docs/install.md", self.stand_ins)
        readme = Transcript("On your cluster", "README.md", self.stand_ins)
        self.commands = readme.take_commands()
        readme.finish()

    def load_image(self):
        self.install.next_block(self.facts)
        # The pods' image stands for this one: no registry is asked.
        run("ctr", "-n", "k8s.io", "images", "tag", "localhost/busybox:1", BUSYBOX)
        with self.fact("docs/install.md says how large the image is"):
            size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", "docker.io/library/kuryr-cni:0.1.0"))
            told = re.search(r"\bIt has (\d+) MB", Path("docs/install.md").read_text(encoding="utf-8"))[1]
            assert abs(size / 1e6 - int(told)) <= 1, f"{size} bytes, on the page {told} MB"

    def store_options(self, text):
        Path(namespaces.WORK, "own.conf").write_text(text)
        (store,) = self.install.take_commands()
        run(store, cwd=namespaces.WORK)

    def apply_agent(self):
        self.install.next_block(self.facts)
        self.install.finish()

    def apply_all(self):
        """README.md's first two commands, and what docs/controller.md has in their place."""
        for _ in range(2):
            self.step()
        with self.fact("docs/controller.md: the same by its command"):
            self.run_whole(Transcript("Start it in Kubernetes", "docs/controller.md", self.stand_ins))

    def run_whole(self, section):
        """A section that has one block."""
        section.next_block(self.facts)
        section.finish()

    def step(self):
        """The next command's output."""
        command = self.commands.pop(0)
        with self.fact(f"README.md: $ {command.splitlines()[0]}", basis=True):
            self.said = run("bash", "-uc", command)
        return self.said

    def two_pods(self):
        while self.commands:
            self.step()
        with self.fact("README.md: one ping was answered"):
            assert "1 packets received" in self.said, self.said
        with self.fact("docs/install.md: the agent is ready, shows its pods, and kuryr-cni --decode the plan of one"):
            self.run_whole(Transcript("Is it well?", "docs/install.md"))
        with self.fact("docs/operations.md: kuryr-cni doctor, in the agent's container, has nothing to mend"):
            self.run_whole(Transcript("Check a node", "docs/operations.md"))
        for name in NAMES:
            self.checks.api.request("DELETE", f"{PODS}/{name}?gracePeriodSeconds=1")
        self.checks.api.wait("they are gone", lambda found: not {("default", name) for name in NAMES} & set(found), PODS)
