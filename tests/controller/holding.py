"""Owners of addresses, as docs/controller.md says. A pod has an address from when its plan or its status says so until it has
lost its finalizer or is gone. Each function gives problems, as texts."""
from collections import defaultdict

from controller.history import PODS, PORTS
from controller.plan import FINALIZER, addresses_of, try_plan


class Holdings:
    def __init__(self, sink):
        self.sink = sink
        self.keys = {}  # {uid: its pod's key}, of pods that have the finalizer
        self.uids = {}  # {key: uid}
        self.ports = {}  # {key: KuryrPort}
        self.said = defaultdict(set)  # {uid: addresses}
        self.holders = defaultdict(set)  # {address: uids}

    def apply(self, change):
        """The addresses that the change gives to a pod; [] where it gives none."""
        if change.kind == PORTS:
            self.ports[change.key] = change.object
            uid = change.object["spec"]["podUid"] if change.object else None
            return self.say(uid, self.planned(change.object)) if uid in self.keys else []
        if change.kind != PODS:
            return []
        uid = change.object["metadata"]["uid"] if change.object else None
        former = self.uids.get(change.key)
        if former not in (None, uid) or (uid and FINALIZER not in change.object["metadata"].get("finalizers", [])):
            self.end(former)
        if uid is None:
            self.uids.pop(change.key, None)
            return []
        self.uids[change.key] = uid
        if FINALIZER not in change.object["metadata"].get("finalizers", []):
            return []
        self.keys[uid] = change.key
        told = {each["ip"] for each in change.object.get("status", {}).get("podIPs", [])}
        return self.say(uid, told | self.planned(change.object if self.sink != "kuryrport" else self.port_of(change)))

    def port_of(self, change):
        port = self.ports.get(change.key)
        return port if port and port["spec"]["podUid"] == change.object["metadata"]["uid"] else None

    def planned(self, written):
        return addresses_of(written and try_plan(written) or {})

    def say(self, uid, addresses):
        new = addresses - self.said[uid]
        self.said[uid] |= new
        for address in new:
            self.holders[address].add(uid)
        return new

    def end(self, uid):
        self.keys.pop(uid, None)
        for address in self.said.pop(uid, ()):
            self.holders[address].discard(uid)


def find_shared(changes, sink, since=0):
    """Addresses that somebody else got, after revision `since`, while they were a pod's."""
    holdings = Holdings(sink)
    for change in changes:
        for address in holdings.apply(change):
            uids = holdings.holders[address]
            if len(uids) > 1 and change.revision > since:
                yield f"{address} of {' and '.join(sorted(holdings.keys[uid] for uid in uids))} at revision {change.revision}"
