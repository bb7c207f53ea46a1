"""Judgements of the history: each function gives problems, as texts."""
from collections import defaultdict

from controller.history import PODS, PORTS
from controller.plan import FINALIZER, PLANNER, addresses_of, plan_of, settled
from harness.expectation import expect
from harness.report import Skipped


class Claims:
    """At one moment: who has which address. No node uses kuryr-controller's KuryrPort of a pod that never had the finalizer."""

    def __init__(self):
        self.pods = {}  # {key: (uid, whether it lives)}
        self.held = set()  # uids
        self.written = {}  # {(kind, key): (uid of its pod, addresses, whether it counts without the finalizer)}

    def apply(self, change):
        """The pod's uid that it is about; None when the object is gone."""
        where = (change.kind, change.key)
        if change.object is None:
            self.written.pop(where, None)
            if change.kind == PODS:
                self.pods.pop(change.key, None)
            return None
        uid = change.object["metadata"]["uid"] if change.kind == PODS else change.object["spec"]["podUid"]
        if change.kind == PODS:
            phase = change.object.get("status", {}).get("phase")
            self.pods[change.key] = (uid, phase not in ("Succeeded", "Failed"))
            if FINALIZER in change.object["metadata"].get("finalizers", []):
                self.held.add(uid)
        plan = plan_of(change.object)
        if plan:
            counts = change.kind == PODS or PLANNER not in change.object["metadata"].get("annotations", {})
            self.written[where] = (uid, addresses_of(plan), counts)
        else:
            self.written.pop(where, None)
        return uid

    def holders(self, needs_life):
        """{address: uids}"""
        living = {uid for uid, lives in self.pods.values() if lives}
        holders = defaultdict(set)
        for uid, addresses, counts in self.written.values():
            if uid in living or not needs_life and (counts or uid in self.held):
                for address in addresses:
                    holders[address].add(uid)
        return holders


def find_doubles(changes, needs_life=True):
    """Addresses that two living pods had at the same moment; needs_life=False: that stood on two pods' objects."""
    claims, seen = Claims(), set()
    for change in changes:
        if change.kind not in (PODS, PORTS):
            continue
        claims.apply(change)
        for address, uids in claims.holders(needs_life).items():
            if len(uids) > 1 and (address, *sorted(uids)) not in seen:
                seen.add((address, *sorted(uids)))
                yield f"{address} of {' and '.join(sorted(uids))} at revision {change.revision} ({change.kind} {change.key})"


def _plans_by_pod(changes):
    """{uid: [what stood on it, one after the other: settled text or None]}"""
    plans = defaultdict(lambda: [None])
    owner = {}
    for change in changes:
        if change.kind not in (PODS, PORTS):
            continue
        where = (change.kind, change.key)
        if change.object is None:
            uid, text = owner.pop(where, None), None
            if change.kind == PODS:
                continue  # it cannot have another one
        else:
            uid = change.object["metadata"]["uid"] if change.kind == PODS else change.object["spec"]["podUid"]
            owner[where] = uid
            plan = plan_of(change.object)
            text = settled(plan) if plan else None
            if change.kind == PODS and text is None and owner.get((PORTS, change.key)) == uid:
                continue  # its plan is on the KuryrPort
        if uid and plans[uid][-1] != text:
            plans[uid].append(text)
    return plans


def find_replanned(changes, planned):
    """Pods that had another plan than their first, or theirs again; planned: {uid: Made} of those that had one for sure."""
    plans = _plans_by_pod(changes)
    for uid, made in planned.items():
        had = [text for text in plans[uid] if text]
        if len(had) != 1:
            yield f"{made.key} ({uid}) had {len(had)} plans: {' then '.join(had)[:600]}"
    for uid, stood in plans.items():
        if uid not in planned and sum(text is not None for text in stood) > 1:
            yield f"{uid} had several plans"


def find_undecodable(changes, planned):
    """Plans of these pods that Python's os-vif does not read, or reads otherwise."""
    try:
        import os_vif
        from os_vif.objects import base
    except ImportError as e:
        raise Skipped(f"no os-vif: {e}") from e
    os_vif.objects.register_all()
    uids = set()
    for change in changes:
        plan = plan_of(change.object) if change.kind in (PODS, PORTS) and change.object else None
        for vif in (plan or {}).values():
            try:
                decoded = base.VersionedObject.obj_from_primitive(vif)
            except Exception as e:
                yield f"{change.kind} {change.key}: {e}"
                continue
            if change.object["metadata"]["uid"] in planned or change.object.get("spec", {}).get("podUid") in planned:
                uids.add(decoded.id)
    expect(uids, "nothing was decoded")


def find_unheld(changes, foreign):
    """Plans that their pod's node could use, after or without the pod's finalizer. It uses a KuryrPort from the finalizer on."""
    present, used = {PODS: {}, PORTS: {}}, set()
    for change in changes:
        if change.kind not in (PODS, PORTS) or change.key in foreign:
            continue
        present[change.kind][change.key] = change.object
        pod, port = (present[kind].get(change.key) for kind in (PODS, PORTS))
        if not pod:
            continue
        uid = pod["metadata"]["uid"]
        has_port = port and port["spec"]["podUid"] == uid and plan_of(port)
        is_held = FINALIZER in pod["metadata"].get("finalizers", [])
        if has_port and is_held:
            used.add(uid)
        if not is_held and (plan_of(pod) or has_port and uid in used):
            yield f"{change.kind} {change.key} at revision {change.revision}"


def find_changed(changes, keys, last):
    """Objects of these keys that somebody changed or deleted after revision `last`."""
    return [f"{change.kind} {change.key} at revision {change.revision}" for change in changes
            if change.key in keys and change.revision > last]


def find_left(present, foreign):
    """Our pods and their KuryrPorts are gone."""
    return [f"{kind} {key}" for kind in (PODS, PORTS) for key in list(present[kind]) if key not in foreign]
