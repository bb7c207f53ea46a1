"""Plans that kuryr-controller should not have written for users who mean ill."""
import ipaddress
import json
from collections import defaultdict

from controller.history import PODS, PORTS
from controller.plan import addresses_of, try_plan


class Plans:
    """Plans by key, and whether kuryr-controller wrote them: a tenant's change is known by its revision."""

    def __init__(self, sink, tenants):
        """tenants: {namespace: the Tenant}"""
        self.kind = PORTS if sink == "kuryrport" else PODS
        self.tenants = tenants
        self.texts = {}  # {key: plan}
        self.macs = defaultdict(dict)  # {bridge: {key: MACs}}, of what kuryr-controller planned

    def apply(self, change):
        """The plan that it has just written; None where the change is none of that kind."""
        if change.kind != self.kind:
            return None
        plan = try_plan(change.object) if change.object else None
        text = json.dumps(plan, sort_keys=True)
        before = self.texts.get(change.key)
        self.texts[change.key] = text
        if text == before:
            return None
        for macs in self.macs.values():
            macs.pop(change.key, None)
        tenant = self.tenants.get(change.key.split("/")[0])
        if plan is None or (tenant and change.revision in tenant.revisions):
            return None
        return plan

    def others_with(self, bridge, mac):
        return [key for key, macs in self.macs[bridge].items() if mac in macs]

    def note(self, key, bridge, mac):
        self.macs[bridge].setdefault(key, set()).add(mac)


def find_misgiven(changes, sink, tenants, ranges):
    """ranges: {namespace: its addresses, in texts}. Problems, as texts."""
    plans = Plans(sink, tenants)
    for change in changes:
        plan = plans.apply(change)
        if plan is None:
            continue
        where = f"{change.key} at revision {change.revision}"
        for address in addresses_of(plan) - ranges[change.key.split("/")[0]]:
            yield f"{address} for {where}"
        for vif in plan.values():
            data = vif["versioned_object.data"]
            bridge, mac = data.get("bridge_name"), data["address"].lower()
            if int(mac[:2], 16) & 1 or not mac.strip("0:"):
                yield f"MAC {mac} for {where}"
            for other in plans.others_with(bridge, mac):
                yield f"MAC {mac} of {other} for {where}"
            plans.note(change.key, bridge, mac)


def all_of(first, last):
    """The addresses from one to the other, in texts."""
    return {str(ipaddress.ip_address(number)) for number in range(int(ipaddress.ip_address(first)), int(ipaddress.ip_address(last)) + 1)}
