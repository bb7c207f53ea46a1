"""Steps that the quick starts share, by their commands: two pods, policies that close and open one of them, and what may be left."""
import os
import re
import shlex
import subprocess

from harness import namespaces
from harness.expectation import nothing, wait_for_none
from harness.process import run
from harness.transcript import Transcript

PAGES = ("docs/quickstart-local.md", "docs/quickstart-ovn.md")
# What kuryr-cni has on a node, and the kinds of objects that the manifests have.
OWN = ("/opt/cni/bin/kuryr-cni", "/usr/lib/cni/kuryr-cni", "/etc/cni/net.d/10-kuryr.conflist", "/etc/kuryr", "/run/kuryr",
       "/var/lib/kuryr-ovn")
KINDS = "daemonsets,deployments,statefulsets,configmaps,secrets,services,serviceaccounts,clusterroles,clusterrolebindings,roles," \
        "rolebindings,customresourcedefinitions,leases,poddisruptionbudgets"
PING = """kubectl exec one -- ping -q -c 1 -W 1 "$(kubectl get pod two -o jsonpath='{.status.podIP}')" """


def ssh_to(nodes):
    """From now on, the program ssh hands its words to a shell on these nodes, as sshd does. nodes: {name: the command that runs
    another one there}"""
    folder = namespaces.WORK / "bin"
    folder.mkdir(exist_ok=True)
    cases = "".join(f"root@{name}) shift && exec {shlex.join(entry)} sh -c \"$*\" ;;\n" for name, entry in nodes.items())
    (folder / "ssh").write_text(f"#!/bin/sh\ncase $1 in\n{cases}*) exit 255 ;;\nesac\n")
    (folder / "ssh").chmod(0o755)
    os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"


class PagePods:
    def __init__(self, page, facts):
        """page: one of PAGES."""
        self.page, self.facts, self.fact = page, facts, facts.fact
        self.policy = Transcript("5. A policy closes one of them", page)

    def start(self):
        pods = Transcript("4. Two pods", self.page)
        with self.fact(f"{self.page}: two pods become ready", basis=True):
            pods.next_block(self.facts)
            wait_until(True)
        pods.next_block(self.facts)
        pods.finish()

    def close_and_open(self):
        """They are gone when it returns."""
        for passes in (False, True):
            self.policy.next_block(self.facts)
            wait_until(passes)
            self.policy.next_block(self.facts)
        with self.fact(f"{self.page}: pods and policies go by its commands"):
            self.policy.next_block(self.facts)
            self.policy.finish()
        assert run("kubectl get pods,networkpolicies -o name") == "", "they are left"


def wait_until(passes):
    """Whether pod two answers pod one: nobody tells when nodes have the rules."""
    def differs():
        passed = subprocess.run(["bash", "-c", PING], capture_output=True, check=False).returncode == 0
        return [] if passed == passes else [f"ping, which passes: {passed}"]
    wait_for_none(differs, "answers to pod one")


def wait_until_undone(hosts, but=()):
    """hosts: those of the nodes; but: names of objects that are others'."""
    for host in hosts:
        nothing([path for path in OWN if host.path(path).exists()], f"left on {host.name}")
        said = host.run("ovs-vsctl list-br") + host.run("ovs-vsctl get Open_vSwitch . external_ids") + host.run("nft list tables")
        nothing(re.findall(r"\S*(?:kuryr|ovn|br-int)\S*", said), f"left in Open vSwitch or nftables of {host.name}")
    nothing(re.findall(r"openstack\.org/\S*", run("kubectl get nodes --output=yaml")), "annotations of nodes")

    def objects():
        found = run("kubectl", "get", "--all-namespaces", "--output=name", KINDS).split()
        return [name for name in found if ("kuryr" in name or "ovn" in name) and name not in but]
    # The controllers of Kubernetes delete an account's token some time after the account.
    wait_for_none(objects, "objects left")
