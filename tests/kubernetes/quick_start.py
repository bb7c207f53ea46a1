"""README.md's commands for a cluster, and those of docs/install.md and docs/controller.md: run as they stand there."""
import re
import shutil
from pathlib import Path

from harness import namespaces
from harness.kube_api import PODS
from harness.process import run
from harness.transcript import Transcript
from kubernetes.images import BUSYBOX

MANIFESTS = Path("etc/kubernetes")
NAMES = ("one", "two")


class QuickStart:
    def __init__(self, checks):
        """checks: KubeletFacts, on a node whose containerd runs."""
        self.checks, self.fact, self.facts = checks, checks.fact, checks.facts
        self.install = Transcript("In Kubernetes", "docs/install.md")
        readme = Transcript("On your cluster", "README.md")
        self.commands = readme.take_commands()
        readme.finish()

    def load_image(self):
        self.install.next_block(self.facts)
        # The pods' image stands for this one: no registry is asked.
        run("ctr", "-n", "k8s.io", "images", "tag", "localhost/busybox:1", BUSYBOX)
        with self.fact("docs/install.md says how large the image is"):
            size = int(run("podman", "image", "inspect", "--format", "{{.Size}}", "docker.io/library/kuryr-cni:latest"))
            told = re.search(r"\bIt has (\d+) MB", Path("docs/install.md").read_text(encoding="utf-8"))[1]
            assert abs(size / 1e6 - int(told)) <= 1, f"{size} bytes, on the page {told} MB"

    def edit_manifests(self, pool):
        """As its user does: pools first, then what this Kubernetes is too old for. The repository's own files stay as they are."""
        copies = namespaces.WORK / "manifests"
        shutil.copytree(MANIFESTS, copies, symlinks=True)
        run("mount", "--bind", copies, MANIFESTS)
        file, section = MANIFESTS / "kuryr-controller.yaml", "    [pool:pods]\n"
        whole = file.read_text()
        assert whole.count(section) == 1, f"{file} has no {section}"
        file.write_text(whole.replace(section, pool + section))
        for each in self.checks.release.before_policy_v1(self.install.take_commands()):
            run("bash", "-uc", each)

    def apply_agent(self):
        self.install.next_block(self.facts)
        self.install.finish()

    def apply_all(self):
        """README.md's first two commands, and what docs/controller.md has in their place."""
        for _ in range(2):
            self.step()
        with self.fact("docs/controller.md: the same by its command"):
            self.run_whole(Transcript("Start it in Kubernetes", "docs/controller.md"))

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
