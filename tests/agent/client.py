"""A runtime's calls of the plugin for its pods, and checks of the answers."""
import collections
import os
import re
import subprocess
import threading
import time

from agent.storm_node import ADD_SECONDS
from harness import result_form
from harness.expectation import Failed, expect
from harness.process import run

# Error codes while a service of the node is away: an operation failed, and: try again later.
ADD_CODES = DEL_CODES = (5, 11)
# The agent was killed after its work and before its answer: the interface exists.
LOST_ANSWER = 100
# ADDs of one pod's sandboxes, and DELs of one sandbox.
MOST_ADDS, MOST_DELS = 60, 60
MOST_PROBLEMS = 50
RETRY_SECONDS = 0.5
KILLED_SHARE = 0.04
GIVEN_UP_SHARE = 0.5
LONGEST_LIFE_SECONDS = 0.08
# A call's own limit, 15 s to undo its work, and time that a busy machine takes.
UNDO_SECONDS, SLACK_SECONDS = 15, 45
DEADLINES = {"ADD": ADD_SECONDS + UNDO_SECONDS + SLACK_SECONDS, "DEL": 60 + UNDO_SECONDS + SLACK_SECONDS}


class Ledger:
    """The ends of all calls. Thread-safe."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ends = collections.Counter()  # (command, "ok", "killed" or error code)
        self.reasons = collections.Counter()  # (command, code, message without names and numbers)
        self.longest = collections.Counter()  # command: seconds
        self.problems = collections.defaultdict(list)  # kind: texts
        self.pairs = 0

    def end(self, command, end, seconds, message=""):
        with self.lock:
            self.ends[command, end] += 1
            self.longest[command] = max(self.longest[command], seconds)
            if message:
                plain = re.sub(r"\b[0-9a-f]{8,}\b|\btap[0-9a-f-]+|\d+", "_", message)
                self.reasons[command, end, plain[:150]] += 1

    def problem(self, kind, text):
        with self.lock:
            self.problems[kind].append(text)

    def is_hopeless(self):
        """Whether the rest is not worth a try: if every call hung, it would take days."""
        with self.lock:
            return sum(map(len, self.problems.values())) > MOST_PROBLEMS

    def count_pair(self):
        with self.lock:
            self.pairs += 1
            return self.pairs


class Client:
    """Plugs and unplugs pods, as a kubelet does. A sandbox whose ADD failed gets DELs until one succeeds. Then its pod gets
    another sandbox, or its owner gives it up for a spare pod, and no later ADD replaces its remains."""

    def __init__(self, node, ledger, storm, spares, random):
        """spares: a deque of pods."""
        self.node, self.ledger, self.storm, self.spares, self.random = node, ledger, storm, spares, random

    def pair(self, pod):
        for _ in range(MOST_ADDS):
            if self.ledger.is_hopeless():
                return
            made = self.node.attachment(pod=pod)
            plugged = self.add(made)
            self.delete(made)
            run("ip", "netns", "delete", made.netns)
            if plugged:
                return
            if self.random.random() < GIVEN_UP_SHARE:
                try:
                    pod = self.spares.popleft()
                except IndexError:
                    pass  # no spare pod is left: the same pod is tried again
            self.storm.outages.wait_for_change(RETRY_SECONDS)
        self.ledger.problem("lost", f"{pod.name} was not plugged by {MOST_ADDS} ADDs")

    def add(self, made):
        answer = self.call(made, "ADD", made.conf(), ADD_CODES)
        if answer is None or not answer.succeeded():
            return False
        try:
            made.result = answer.result()
            self.check_result(made)
        except (Failed, LookupError, subprocess.CalledProcessError) as wrong:
            self.ledger.problem("result", f"{made.pod.name}: {getattr(wrong, 'stderr', '') or wrong}")
        return True

    def delete(self, made):
        for _ in range(MOST_DELS):
            answer = self.call(made, "DEL", made.with_result(), DEL_CODES)
            if answer and answer.succeeded():
                if answer.stdout.strip():
                    self.ledger.problem("form", f"{made.pod.name}: a DEL that succeeds says nothing: {answer}")
                if os.path.exists(f"/sys/class/net/{made.pod.plan.tap}"):
                    self.ledger.problem("leak", f"{made.pod.name}: {made.pod.plan.tap} is there after its DEL")
                return
            self.storm.outages.wait_for_change(RETRY_SECONDS)
        self.ledger.problem("lost", f"{made.pod.name}: {MOST_DELS} DELs of {made.container_id} failed")

    def call(self, made, command, conf, codes):
        """The answer; None where the call was killed, or gave none."""
        begin = time.monotonic()
        killed = False
        try:
            process = made.start(command, conf)
            if self.random.random() < KILLED_SHARE:
                killed = self.kill_soon(process)
            answer = self.node.finish_call(process, command, DEADLINES[command])
            end = time.monotonic()
            if killed:
                self.ledger.end(command, "killed", end - begin)
                return None
            if answer.succeeded():
                self.ledger.end(command, "ok", end - begin)
                return answer
            error = answer.error()
        except Failed as wrong:
            self.ledger.problem("form", f"{made.pod.name}: {wrong}")
            return None
        self.ledger.end(command, error["code"], end - begin, f"{error['msg']}; {error.get('details', '').split(';')[0]}")
        away = self.storm.outages.during(begin, end)
        if command == "ADD" and "kuryr-daemon" in away:
            codes = (*codes, LOST_ANSWER)
        if error["code"] not in codes or not away:
            self.ledger.problem("reason", f"{made.pod.name}: {', '.join(sorted(away)) or 'nothing'} was away: {answer}")
        return answer

    def kill_soon(self, process):
        """Whether it was killed: it may have ended before."""
        try:
            process.wait(self.random.random() * LONGEST_LIFE_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait() < 0
        return False

    def check_result(self, made):
        plan = made.pod.plan
        _, inner = result_form.container_interface(made.result, made.ifname)
        link = made.link()
        expect(link, f"{made.ifname} is not in the pod")
        expect(inner["mac"] == link["address"] == plan.mac, f"MAC is {link['address']}, in the result {inner['mac']}")
        expect(set(result_form.addresses(made.result)) == made.addresses() == plan.addresses,
               f"addresses are {made.addresses()}, in the result {result_form.addresses(made.result)}")
        expect([each["name"] for each in result_form.host_interfaces(made.result)] == [plan.tap], "host's interface")
        said = self.node.ovs.vsctl("--retry", "iface-to-br", plan.tap, "--", "get", "Interface", plan.tap,
                                   "external_ids:iface-id", "external_ids:kuryr-container-id").replace('"', "").split()
        expect(said == ["br-int", plan.port, made.container_id], f"its port is of {said}")
