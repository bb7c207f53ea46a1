"""All pods of a Deployment are recreated while what they stand on is restarted."""
import collections
import itertools
import os
import re
import time

from harness.expectation import nothing, wait_for_none
from harness.kube_api import PODS
from harness.traffic import ping
from kubernetes.controllers import SYSTEM_PODS, is_true, of_app
from kubernetes.deployment import Deployment
from kubernetes.node_pods import PORT_LIST
from kubernetes.replacement import EVENTS, Process

REPLICAS = 30
BEGUN = REPLICAS // 3
FAILED = "FailedCreatePodSandBox"
# Messages of the kubelet where containerd ends, is away or begins, or still knows a sandbox that it began.
RUNTIMES = re.compile(r"connection refused|transport is closing|error reading from server: EOF|containerd\.sock"
                      r"|failed to reserve sandbox name")
# Names of pods and sandboxes, in messages.
NAMES = re.compile(r"web-[0-9a-z]+-[0-9a-z]{5}|\b[0-9a-f]{64}\b|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
TOLD = 400
# Every pod here has this Event: the kubelet has no DNS for it.
USUAL = ("MissingClusterDNS",)
# The kubelet removes what is left of sandboxes every minute.
GONE_SECONDS = 150


class Recreation:
    def __init__(self, checks):
        """checks: KubeletFacts"""
        self.checks, self.fact, self.api, self.pods = checks, checks.fact, checks.api, checks.pods
        self.controllers = checks.controller.controllers
        self.deployment = Deployment(checks.pods, "web", REPLICAS)

    def go(self, rounds):
        with self.fact(f"a Deployment's {REPLICAS} pods run", basis=True):
            self.deployment.create()
            self.check(self.deployment.wait_until_run())
        ovs = self.checks.cluster.node.ovs
        restarts = {"the agent": self.restart_agent, "containerd": self.checks.cluster.node.containerd.restart,
                    "ovs-vswitchd": ovs.restart_vswitchd, "ovsdb-server": ovs.restart_ovsdb,
                    "the leading kuryr-controller": self.restart_leader}
        for number, (program, restart) in zip(range(rounds), itertools.cycle(restarts.items())):
            self.round(number, program, restart)
        self.ends()

    def round(self, number, program, restart):
        ways = {"its pods are deleted": self.deployment.delete_pods, "it is deleted and comes again": self.replace}
        way, recreate = list(ways.items())[number % 2]
        # Each program once at each moment.
        moments = {"are planned": self.wait_until_planned, "run": self.wait_until_run}
        moment, wait_until = list(moments.items())[number // 5 % 2]
        with self.fact(f"round {number + 1}: {way}, {program} is restarted when a third of the next pods {moment}:"
                       " all of them run, with addresses and ports of their own, and reach each other"):
            old = self.deployment.names()
            began = time.monotonic()
            recreate()
            wait_until(old)
            restart()
            pods = self.deployment.wait_until_run(old)
            print(f"        it took {time.monotonic() - began:.1f} s until all ran", flush=True)
            self.controllers.wait_until_available(2)
            self.check(pods)
            self.deployment.wait_until_gone({pod.name for pod in pods})

    def replace(self):
        self.deployment.delete()
        self.deployment.create()

    # ---- a third of the next ones
    def wait_until_planned(self, old):
        self.api.wait("they are planned", lambda found: len(self.deployment.of(found, old)) >= BEGUN, PORT_LIST)

    def wait_until_run(self, old):
        self.api.wait("they run", lambda found: BEGUN <= len([
            pod for pod in self.deployment.of(found, old).values() if pod["status"]["phase"] == "Running"]), PODS)

    def check(self, pods):
        for pod in pods:
            self.pods.check(pod)
        for what in ("address", "port"):
            assert len({getattr(pod.plan, what) for pod in pods}) == REPLICAS, f"one {what} twice"
        for pod, other in zip(pods, pods[1:] + pods[:1]):
            ping(self.pods.netns(pod), other.plan.address)

    # ---- what is restarted
    def restart_agent(self):
        old, pid = self.checks.agent()
        with Process(pid) as agent:
            self.checks.delete_agent(old, pid)
            agent.wait_for_end()
        self.api.wait("the next one is ready", lambda pods: any(
            is_true(pod, "Ready") for pod in of_app(pods.values(), "kuryr-daemon")
            if pod["metadata"]["uid"] != old["metadata"]["uid"]), SYSTEM_PODS)

    def restart_leader(self):
        before = self.controllers.holder()
        self.api.request("DELETE", f"{SYSTEM_PODS}/{self.controllers.leader()}")
        self.controllers.wait_for_other_leader(before)

    # ---- what is left
    def ends(self):
        with self.fact("the Deployment's end leaves no link, no port, no record"):
            self.deployment.delete()
            self.deployment.wait_until_gone()
            wait_for_none(self.pods.remains, "left", GONE_SECONDS)
            print(f"        containerd left {len(os.listdir('/run/netns'))} files in /run/netns", flush=True)
        with self.fact(f"each {FAILED} is of the runtime's own making"):
            warnings = self.warnings()
            for (reason, message), count in warnings.most_common():
                print(f"        {count} times {reason}: {message[:TOLD]}", flush=True)
            nothing([message for reason, message in warnings if reason == FAILED and not is_runtimes_own(message)],
                    "of another's making")

    def warnings(self):
        """How often each was said of a pod: {(reason, message without names): count}"""
        said = collections.Counter()
        for event in self.api.get(EVENTS)["items"]:
            if event["type"] == "Warning" and event["reason"] not in USUAL:
                said[event["reason"], NAMES.sub("*", event["message"])] += event.get("count") or 1
        return said


def is_runtimes_own(message):
    # containerd names the plugin in what the plugin answered.
    return RUNTIMES.search(message) and "kuryr" not in message
