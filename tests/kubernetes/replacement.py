"""The agent is replaced while pods come and go."""
import datetime
import os
import re
import select
import time

from harness.expectation import expect_same, nothing
from kubernetes.absence_facts import EVENTS, NODES, ready_since
from kubernetes.api_server import EVENT_SECONDS

BEFORE, MEANWHILE = 4, 4
# The kubelet stops a sandbox that its garbage collection has just removed.
REMOVED = "code = NotFound desc = an error occurred when try to find sandbox"


class Process:
    """One that runs, whoever's child it is. To be used by with."""

    def __init__(self, pid):
        self.descriptor = os.pidfd_open(pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.descriptor)

    def wait_for_end(self):
        end = select.poll()
        end.register(self.descriptor, select.POLLIN)
        assert end.poll(EVENT_SECONDS * 1000), f"it has not ended in {EVENT_SECONDS} s"


class Replacement:
    def __init__(self, checks, act, leaving):
        """act(the agent's pod, its process) begins it. leaving: pods, which go while there is no agent."""
        self.checks, self.act, self.leaving = checks, act, leaving

    def go(self):
        """The pods that have come."""
        checks, pods = self.checks, self.checks.pods
        old, pid = checks.agent()
        failed, ready = self.failures(), self.ready_since()
        with Process(pid) as agent:
            new = pods.make(BEFORE)
            self.act(old, pid)
            agent.wait_for_end()
            gone = time.time()
            pods.delete(self.leaving)
            new += pods.make(MEANWHILE)
        pods.wait_until_run(new)
        checks.wait_until_ready()
        print(f"        it took {ready_at(checks.agent_log()) - gone:.1f} s until the next one served", flush=True)
        nothing(self.failures() - failed, "failed")
        expect_same(ready, self.ready_since(), "since when the node is ready")
        for pod in new:
            pods.check(pod)
        checks.wait_until_unplugged(self.leaving)
        return new

    def ready_since(self):
        return ready_since(self.checks.api.get(f"{NODES}/{self.checks.cluster.node.name}"))

    def failures(self):
        """The kubelet's and the scheduler's failures with pods."""
        return {f"{event['involvedObject']['name']}: {event['reason']}: {event['message']}"
                for event in self.checks.api.get(EVENTS)["items"]
                if event["reason"].startswith("Failed") and REMOVED not in event["message"]}


def ready_at(log):
    """When the last agent of that log was."""
    line = [line for line in log.splitlines() if "msg=ready" in line][-1]
    return datetime.datetime.fromisoformat(re.search(r"time=(\S+)", line)[1]).timestamp()
