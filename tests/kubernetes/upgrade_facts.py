"""Facts of a cluster whose programs become those of another release and are taken back, one after the other, while clients connect and
pods come and go."""
import os
from pathlib import Path

from harness.expectation import expect_same, nothing, wait_for_none
from harness.kube_api import PODS
from harness.kuryr import ATTACHMENTS
from kubernetes.absence_facts import EVENTS
from kubernetes.controllers import SYSTEM_PODS, is_true
from kubernetes.network_pods import PORT, NetworkPods, ask
from kubernetes.ways import Ways

PLUGIN = Path("/opt/cni/bin/kuryr-cni")


class UpgradeFacts:
    def __init__(self, cluster, facts, former, newer):
        """cluster: TwoNodes, which run with the programs of former; former, newer: {launcher's option: program}."""
        self.cluster, self.api, self.fact, self.former, self.newer = cluster, cluster.api, facts.fact, former, newer
        self.pods = NetworkPods(cluster)
        self.numbers, self.visitors = 0, []

    def state(self):
        # Its pod is plugged like others, and stays.
        self.api.wait("the cluster's DNS is ready", lambda pods: any(is_true(pod, "Ready") for pod in pods.values()), SYSTEM_PODS)
        before = self.attachments()
        first, second = self.cluster.nodes
        made = self.pods.make({"asking": (first, None), "answering": (second, None)})
        self.asking = made["asking"]
        with Ways(self.cluster, self.pods, self.asking, made["answering"]) as ways:
            self.step(ways, "all is of the former release", lambda: None)
            for what, act in self.steps(self.newer):
                self.step(ways, f"the newer {what}", act)
            for what, act in reversed(self.steps(self.former)):
                self.step(ways, f"back to the former {what}", act)
        with self.fact("pods of both releases go, and leave nothing"):
            self.delete([*self.visitors, *made])
            wait_for_none(lambda: self.attachments() - before, "left")

    def steps(self, programs):
        """[(which program, how it becomes that)]: each node's agent works with the other's, and each plugin with the other agent."""
        return [("kuryr-controller", lambda: self.replace_controller(programs["controller"])),
                *((f"{name} of {node.name}", act) for number, node in enumerate(self.cluster.nodes) for name, act in (
                    ("kuryr-cni", lambda node=node: replace_plugin(node, programs["plugin"])),
                    ("kuryr-daemon", lambda number=number: self.replace_agent(number, programs["daemon"]))))]

    def step(self, ways, text, act):
        with self.fact(f"{text}: no request and no connection fails, and pods come and go"):
            ways.begin()
            failed = self.failed_pods()
            act()
            earlier, self.visitors = self.visitors, self.come()
            self.delete(earlier)
            ways.wait_until_all_carry()
            print("        the longest gap: {:.2f} s, {}".format(*ways.longest_gap), flush=True)
            ways.require_no_failure()
            nothing(self.failed_pods() - failed, "failed")

    def come(self):
        """A pod on each node, which answers."""
        self.numbers += 1
        names = {f"visitor{self.numbers}-{node.name}": (node, None) for node in self.cluster.nodes}
        for pod in self.pods.make(names).values():
            for address in pod.addresses.values():
                expect_same(pod.name, ask(self.asking.netns, address, PORT), f"the answer at {address}")
        return list(names)

    def attachments(self):
        return {record for node in self.cluster.nodes for record in node.host.path(ATTACHMENTS).glob("*")}

    def delete(self, names):
        for name in names:
            self.api.request("DELETE", f"{PODS}/{name}")
        self.api.wait("they are gone", lambda found: not {name for _, name in found} & set(names), PODS)

    def failed_pods(self):
        return {f"{event['involvedObject']['name']}: {event['message']}" for event in self.api.get(EVENTS)["items"]
                if event["reason"].startswith("FailedCreatePodSandBox") or event["reason"].startswith("FailedKillPod")}

    # ---- what a rollout of etc/kubernetes does
    def replace_controller(self, program):
        self.cluster.controller.terminate()
        self.cluster.controller.wait()
        self.cluster.options.controller = program
        self.cluster.start_controller()

    def replace_agent(self, number, program):
        agent = self.cluster.agents[number]
        agent.stop()
        agent.program = program
        agent.start()


def replace_plugin(node, program):
    link = node.host.path(PLUGIN)
    link.with_suffix(".new").symlink_to(program)
    os.replace(link.with_suffix(".new"), link)
