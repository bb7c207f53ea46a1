"""Everything that ever happened to pods, KuryrPorts, Leases and namespaces: etcd's own watch, which no API server interrupts."""
import base64
import http.client
import json
import socket
import threading
import time
from dataclasses import dataclass

from controller.plan import counts, plan_of
from harness.expectation import Failed
from harness.namespaces import WORK

# One watch, one order: from leases to pods.
FIRST, AFTER_LAST = b"/registry/leases/", b"/registry/pods0"
PORTS, PODS, LEASES, NAMESPACES = "openstack.org/kuryrports", "pods", "leases", "namespaces"


@dataclass(frozen=True)
class Change:
    revision: int
    kind: str
    key: str  # NAMESPACE/NAME; of a namespace, NAME
    object: dict  # None: it is gone


class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("etcd")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Etcd:
    """Its JSON gateway."""

    def __init__(self, path):
        self.path = path

    def open(self, method, request):
        connection = _Connection(self.path)
        connection.request("POST", f"/v3/{method}", json.dumps(request))
        answer = connection.getresponse()
        if answer.status != 200:
            raise RuntimeError(f"etcd: {method}: {answer.read().decode()}")
        return answer

    def compact(self):
        """Makes etcd forget all revisions before the present one."""
        present = json.loads(self.open("kv/range", {"key": _encoded(b"none")}).read())["header"]["revision"]
        self.open("kv/compaction", {"revision": present, "physical": True}).read()


class History(threading.Thread):
    """Thread-safe."""

    def __init__(self, etcd):
        super().__init__(daemon=True)
        self.changed = threading.Condition()
        self.changes = []
        self.present = {PODS: {}, PORTS: {}, LEASES: {}, NAMESPACES: {}}
        self.broken = None
        self.log = open(WORK / "history.log", "w", encoding="utf-8", buffering=1)
        self.answer = etcd.open("watch", {"create_request": {
            "key": _encoded(FIRST), "range_end": _encoded(AFTER_LAST), "start_revision": "1"}})
        self.start()

    def run(self):
        try:
            for line in self.answer:
                result = json.loads(line)["result"]
                if result.get("canceled"):
                    raise RuntimeError(f"the watch was canceled: {result}")
                for event in result.get("events", []):
                    self._take(event)
        except Exception as error:
            with self.changed:
                self.broken = error
                self.changed.notify_all()

    def _take(self, event):
        kv = event["kv"]
        path = base64.b64decode(kv["key"]).decode().removeprefix("/registry/")
        kind, _, key = next(((kind, *path[len(kind):].partition("/")[1:]) for kind in self.present if path.startswith(f"{kind}/")),
                            (None, None, None))
        if kind is None:
            return
        present = None if event.get("type") == "DELETE" else json.loads(base64.b64decode(kv["value"]))
        with self.changed:
            self.changes.append(Change(int(kv["mod_revision"]), kind, key, present))
            print(self.changes[-1], file=self.log)
            if present is None:
                self.present[kind].pop(key, None)
            else:
                self.present[kind][key] = present
            self.changed.notify_all()

    def wait(self, find, what, seconds):
        """Waits until find() returns a true value, which it returns; find() is called after every change."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not (found := find()):
                if self.broken:
                    raise self.broken
                if not self.changed.wait(deadline - time.monotonic()) and not find():
                    raise Failed(f"not within {seconds} s: {what}")
            return found

    # ---- the present; inside of wait() or not
    def pod(self, key, uid):
        """The pod with this UID; None when it is gone."""
        pod = self.present[PODS].get(key)
        return pod if pod and pod["metadata"]["uid"] == uid else None

    def plan(self, key, uid):
        """The pod's plan, as its node sees it; None as long as it has none."""
        pod, port = self.pod(key, uid), self.present[PORTS].get(key)
        beside = plan_of(port) if pod and port and counts(port, pod) else None
        return beside or (pod and plan_of(pod))

    def leader(self):
        """The holder of the Lease; empty where there is none."""
        lease = self.present[LEASES].get("kube-system/kuryr-controller", {})
        return lease.get("spec", {}).get("holderIdentity", "")


def _encoded(key):
    return base64.b64encode(key).decode()
