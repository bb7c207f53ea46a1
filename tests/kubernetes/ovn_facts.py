"""Facts of a cluster on OVN: its rows are those of pods and nodes, whatever is killed, and a pod's name may move to another node."""
import json
import os
import re
import time

from harness.expectation import POLL_SECONDS, Failed, expect, expect_same
from harness.kube_api import PODS
from harness.namespaces import WORK
from harness.process import run
from harness.transcript import Transcript
from kubernetes.network_pods import PORT, NetworkPods, ask, client_seen, until_answered
from ovn.central import CONTROLLER, NB, NORTHD, SB

ALL_PODS, NODES = "/api/v1/pods", "/api/v1/nodes"
# A leader that is new waits a minute before it deletes what the one before has left.
SECONDS = 90
# At once: a kubelet that is gone confirms no end.
AT_ONCE = {"gracePeriodSeconds": 0}


class OvnFacts:
    def __init__(self, cluster, facts):
        """cluster: OvnNodes, which run."""
        self.cluster, self.fact, self.central = cluster, facts.fact, cluster.central
        self.pods = NetworkPods(cluster)

    def state(self):
        first, second = self.cluster.nodes
        made = self.pods.make({"mover": (first, None), "one": (first, None), "other": (second, None)})
        self.one, self.other = made["one"], made["other"]
        with self.fact("the northbound database has a port for each pod and each node, and no more"):
            self.wait_for_ports()
        with self.fact("the router names the cluster by the UID of namespace kube-system"):
            uid = self.cluster.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]
            expect_same(f'"{uid}"', self.central.nbctl("get", "Logical_Router", "kuryr", "external_ids:kuryr-uid").strip(), "kuryr-uid")
        self.trace()
        with self.fact("a pod's name moves to the other node, where both nodes' pods reach it"):
            self.delete("mover")
            self.reach(self.pods.make({"mover": (second, None)})["mover"])
            self.delete("mover")
        for name, (kill, start) in self.parts().items():
            with self.fact(f"{name} was killed and is back: pods reached each other and the API server, and reach a new one"):
                kill()
                try:
                    self.reach(self.other)
                    self.reach_api()
                finally:
                    start()
                self.reach_api()
                self.reach(self.pods.make({"new": (second, None)})["new"])
                self.delete("new")
        with self.fact("the northbound database still has a port for each pod and each node, and no more"):
            self.wait_for_ports()

    def trace(self):
        """By docs/ovn-operations.md's command, on the node that OVN's databases are on."""
        host, program = self.cluster.hosts[0], WORK / "bin/kuryr-controller"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec {" ".join(host.entry)} {self.cluster.options.controller} '
                           f'--config-file {WORK}/kuryr-controller.conf "$@"\n')
        program.chmod(0o755)
        before = os.environ["PATH"]
        os.environ["PATH"] = f"{program.parent}:{before}"
        page = Transcript("How to look", "docs/ovn-operations.md")
        page.next_block(self)
        page.finish()
        os.environ["PATH"] = before
        with self.fact("kuryr-controller trace names the stage at which OVN drops a packet"):
            acls = f"kuryr/node/{self.other.node.name}", "to-lport", 2000, "tcp.dst==9"
            self.central.nbctl("--wait=sb", "acl-add", *acls, "drop")
            said = run(program, "trace", "default/one", "default/other", "tcp/9", check=False)
            self.central.nbctl("acl-del", *acls)
            # _eval since OVN 23.06.
            expect(re.match("does not reach default/other in ls_out_acl(_eval)?: ", said), said)

    def parts(self):
        """{part's name: (how it is killed, how it is started again)}"""
        found = {part: (self.central, part) for part in (NB, SB, NORTHD)}
        found |= {f"{CONTROLLER} of {host.name}": (daemons, CONTROLLER)
                  for host, daemons in zip(self.cluster.hosts, self.cluster.controllers)}
        parts = {name: (lambda daemons=daemons, part=part: daemons.kill(part), lambda daemons=daemons, part=part: daemons.start(part))
                 for name, (daemons, part) in found.items()}
        return parts | {"kuryr-controller": (self.cluster.kill_controller, self.cluster.start_controller)}

    def reach(self, pod):
        for family, address in pod.addresses.items():
            for asking in (self.one, self.other):
                until_answered(asking.netns, address, PORT, pod.name)
                expect_same(asking.addresses[family], client_seen(asking.netns, address), asking.name)
            for node in self.cluster.nodes:
                expect_same(pod.name, ask(node.host.netns, address), f"from {node.name}")

    def reach_api(self):
        for pod in (self.one, self.other):
            self.pods.ask_api(pod)

    def delete(self, name):
        self.cluster.api.request("DELETE", f"{PODS}/{name}")
        self.cluster.api.wait(f"{name} is gone", lambda pods: ("default", name) not in pods, PODS)

    # ---- the end of a node
    def end_node(self):
        """The last fact, as one node remains."""
        first, second = self.cluster.nodes
        with self.fact("a node is switched off and deleted: its rows go, and its pods' names come to the other node"):
            # Replacements of its pods would go there, and wait a minute for the node's garbage collection.
            self.cluster.api.patch(f"{NODES}/{second.name}", {"spec": {"unschedulable": True}})
            second.kubelet.kill()
            second.kubelet.wait()
            self.cluster.agents[1].kill()
            self.cluster.controllers[1].kill(CONTROLLER)
            second.ovs.stop()
            for pod in self.cluster.api.get(f"{ALL_PODS}?fieldSelector=spec.nodeName={second.name}")["items"]:
                metadata = pod["metadata"]
                self.cluster.api.request("DELETE", f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}", AT_ONCE)
            self.cluster.api.request("DELETE", f"{NODES}/{second.name}")
            self.cluster.api.wait("its pods are gone", lambda pods: second.name not in {
                pod["spec"].get("nodeName") for pod in pods.values()}, ALL_PODS)
            moved = self.pods.make({"other": (first, None)})["other"]
            until_answered(self.one.netns, next(iter(moved.addresses.values())), PORT, moved.name)
            self.wait_for_ports()
            wait_until("no row names the node", lambda: f"kuryr/node/{second.name}" not in self.rows(), self.rows)

    # ---- rows
    def rows(self):
        """What OVN lists of switches and routers."""
        return self.central.nbctl("show")

    def wait_for_ports(self):
        wait_until("the ports are those of pods and nodes", lambda: self.ports() == self.owners(),
                   lambda: f"ports of {self.ports() - self.owners()} too many, and none of {self.owners() - self.ports()}")

    def owners(self):
        pods = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}" for pod in self.cluster.api.get(ALL_PODS)["items"]
                if not pod["spec"].get("hostNetwork")}
        return pods | {node["metadata"]["name"] for node in self.cluster.api.get(NODES)["items"]}

    def ports(self):
        listed = json.loads(self.central.nbctl("--format=json", "--columns=type,external_ids", "list", "Logical_Switch_Port"))
        return {dict(ids[1])["kuryr-name"] for kind, ids in listed["data"] if kind != "router"}


def wait_until(what, holds, found):
    """found(): what there is instead."""
    deadline = time.monotonic() + SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"not in {SECONDS} s: {what}: {found()}")
        time.sleep(POLL_SECONDS)
