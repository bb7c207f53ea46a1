"""VIFs as they are written on a Pod or a KuryrPort."""
import json

from harness.pod import ANNOTATION

FINALIZER = "kuryr.openstack.org/pod-finalizer"
PLANNER = "kuryr.openstack.org/planner"  # stands on KuryrPorts of kuryr-controller


def plan_of(written):
    """{interface: os-vif object} of a Pod or a KuryrPort; None where there is none."""
    if written["kind"] == "KuryrPort":
        vifs = (written.get("status") or {}).get("vifs") or {}
        return {name: each["vif"] for name, each in vifs.items()} or None
    annotation = written["metadata"].get("annotations", {}).get(ANNOTATION)
    if not annotation:
        return None
    value = json.loads(annotation)
    if value["versioned_object.name"] != "PodState":
        return {"eth0": value}
    data = value["versioned_object.data"]
    return {"eth0": data["default_vif"], **data.get("additional_vifs", {})}


def counts(port, pod):
    """Whether the pod's node uses the KuryrPort: kuryr-controller's holds from the pod's finalizer on."""
    if port["spec"]["podUid"] != pod["metadata"]["uid"]:
        return False
    return FINALIZER in pod["metadata"].get("finalizers", []) or PLANNER not in port["metadata"].get("annotations", {})


def try_plan(written):
    """plan_of() for objects of a user who may mean ill; None also where the plan cannot be read."""
    try:
        plan = plan_of(written)
        addresses_of(plan or {})
        return plan
    except (AttributeError, KeyError, TypeError, ValueError):
        return None


def addresses_of(plan):
    return {address["address"] for vif in plan.values()
            for subnet in _list(_list_data(vif, "network"), "subnets") for address in _list(subnet, "ips")}


def main_addresses(plan):
    """The addresses that the pod's status names: eth0's first one of each family."""
    addresses = sorted(addresses_of({"eth0": plan["eth0"]}), key=lambda address: ":" in address)
    return list({":" in address: address for address in reversed(addresses)}.values())[::-1]


def is_active(plan):
    return all(vif["versioned_object.data"].get("active", True) for vif in plan.values())


def settled(plan):
    """As text, but for what a plan may become: active."""
    data = json.loads(json.dumps(plan))
    for vif in data.values():
        vif["versioned_object.data"].pop("active", None)
    return json.dumps(data, sort_keys=True)


def _list_data(vif, field):
    return vif["versioned_object.data"][field]["versioned_object.data"]


def _list(data, field):
    return [each["versioned_object.data"] for each in data[field]["versioned_object.data"]["objects"]]
