"""The agent is replaced while pods are created."""
import datetime
import os
import re
import select
import time

from aftermath import nothing
from cluster import EVENT_SECONDS

BEFORE, MEANWHILE = 4, 4
EVENTS = "/api/v1/namespaces/default/events"


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
    def __init__(self, checks, act):
        """act(the agent's pod, its process) begins it."""
        self.checks, self.act = checks, act

    def go(self):
        checks, pods = self.checks, self.checks.pods
        old, pid = checks.agent()
        failed = self.failed_sandboxes()
        with Process(pid) as agent:
            new = pods.make(BEFORE)
            self.act(old, pid)
            agent.wait_for_end()
            gone = time.time()
            new += pods.make(MEANWHILE)
        pods.wait_until_run(new)
        checks.wait_until_ready()
        print(f"        it took {ready_at(checks.agent_log()) - gone:.1f} s until the next one served", flush=True)
        nothing(self.failed_sandboxes() - failed, "failed")
        for pod in new:
            pods.check(pod)

    def failed_sandboxes(self):
        events = self.checks.api.get(f"{EVENTS}?fieldSelector=reason%3DFailedCreatePodSandBox")["items"]
        return {f"{event['involvedObject']['name']}: {event['message']}" for event in events}


def ready_at(log):
    """When the last agent of that log was."""
    line = [line for line in log.splitlines() if "msg=ready" in line][-1]
    return datetime.datetime.fromisoformat(re.search(r"time=(\S+)", line)[1]).timestamp()
