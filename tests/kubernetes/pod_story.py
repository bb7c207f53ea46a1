"""When what became of a pod, by the API server's audit log and the agent's log. Times in seconds."""
import re
import statistics

from kubernetes import audit

CALL = re.compile(r'time=(\S+) .*msg=call command=(\w+) container=(\w+) .*pod=(\S+) us=(\d+) error=(?:""|(.+))')
CLEARED = {("openstack.org", "kuryrports", "delete"), ("", "pods", "patch")}


class Stories:
    def __init__(self, audit_log, agent_log):
        self.asked = audit.read(audit_log)
        self.calls = [call.groups() for call in map(CALL.search, agent_log.splitlines()) if call]

    def begin(self, pod):
        """From its creation to each step: scheduled, planned, its ADD begun and answered, Running."""
        add = [call for call in self._calls(pod, "ADD") if not call[-1]][0]
        answered = audit.seconds(add[0])
        steps = {"scheduled": self._of(pod, "pods/binding", "create")[0].answered,
                 "planned": self._of(pod, "kuryrports", "create")[0].answered,
                 "ADD begun": answered - int(add[4]) / 1e6,
                 "ADD answered": answered,
                 "Running": self._running(pod)}
        return {name: time - self._created(pod) for name, time in steps.items()}

    def running(self, pod):
        """From its creation, whoever its network is of."""
        return self._running(pod) - self._created(pod)

    def end(self, pod):
        """From its last request to delete it, or its end, to each step: the kubelet has said that nothing of it runs, the
        controller has released it, its first DEL is answered."""
        cleared = [each for each in self._of(pod) if each.user == audit.CONTROLLER and each.right in CLEARED][-2:]
        said = [each for each in self._of(pod) if each.answered < cleared[0].received
                and (each.right == ("", "pods", "delete") or each.user == audit.KUBELET)]
        deleted = [each for each in said if each.user != audit.KUBELET and each.verb == "delete"]
        began = (deleted or said)[-1].received
        unplugged = min(audit.seconds(call[0]) for call in self._calls(pod, "DEL") if not call[-1])
        steps = {"nothing runs": said[-1].answered, "released": cleared[-1].answered, "DEL answered": unplugged}
        return {name: time - began for name, time in steps.items()}

    def _created(self, pod):
        return self._of(pod, "pods", "create")[0].received

    def _running(self, pod):
        return [each for each in self._of(pod, "pods/status", "patch")
                if each.body.get("status", {}).get("phase") == "Running"][0].answered

    def _of(self, pod, resource=None, verb=None):
        return [each for each in self.asked if each.pod == ("default", pod.name) and each.code < 300
                and resource in (None, each.resource) and verb in (None, each.verb)]

    def _calls(self, pod, command):
        return [call for call in self.calls if (call[1], call[3]) == (command, f"default/{pod.name}")]


def medians(stories):
    """A line for a reader."""
    return ", ".join(f"{step} {statistics.median(story[step] for story in stories):.2f}" for step in stories[0])
