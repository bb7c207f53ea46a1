"""Requests to the API server, by whom and when, from its audit log."""
import datetime
import json
from dataclasses import dataclass

ACCOUNT = "system:serviceaccount:kube-system:"
AGENT, CONTROLLER, KUBELET = f"{ACCOUNT}kuryr-daemon", f"{ACCOUNT}kuryr-controller", "system:node:node1"
POLICY = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "omitStages": ["RequestReceived"], "rules": [
    {"level": "Request", "verbs": ["create", "patch", "delete"],
     "resources": [{"group": "", "resources": ["pods", "pods/*"]}, {"group": "openstack.org"}]},
    {"level": "Metadata", "users": [AGENT, CONTROLLER]}, {"level": "None"}]}


@dataclass(frozen=True)
class Asked:
    """Times are of the wall clock, in seconds."""

    user: str
    group: str
    resource: str  # PODS, or PODS/SUBRESOURCE
    verb: str
    code: int
    pod: tuple  # (namespace, name) of the object
    received: float
    answered: float
    body: dict

    @property
    def right(self):
        return self.group, self.resource, self.verb


def read(log):
    """Requests for objects, in the order of the answers."""
    events = map(json.loads, log.read_text().splitlines())
    return [_asked(event) for event in events if "objectRef" in event]


def seconds(time):
    return datetime.datetime.fromisoformat(time.replace("Z", "+00:00")).timestamp()


def _asked(event):
    thing = event["objectRef"]
    return Asked(event["user"]["username"], thing.get("apiGroup", ""),
                 "/".join(filter(None, (thing["resource"], thing.get("subresource")))), event["verb"],
                 event["responseStatus"]["code"], (thing.get("namespace", ""), thing.get("name", "")),
                 seconds(event["requestReceivedTimestamp"]), seconds(event["stageTimestamp"]),
                 event.get("requestObject") or {})
