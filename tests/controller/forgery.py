"""Plans that look like kuryr-controller's own: ids follow from names alone (controller/backends/pools/pool_vif.cc)."""
import ipaddress
import json
import uuid

from harness.pod import ANNOTATION

MOST = 1 << 64


def vif_id(uid, ifname="eth0"):
    return _id(f"vif/{uid}/{ifname}")


def network_id(pool):
    return _id(f"network/{pool}")


def vif(identifier, pool, addresses, mac, active=True):
    """A VIF of a pool of type Pool, or of a pool that no controller has."""
    networks = {str(ipaddress.ip_network(f"{address}/24", strict=False)) for address in addresses}
    subnets = [_object("Subnet", cidr=cidr, dns=[], gateway=cidr.replace(".0/24", ".1"), routes=_list("Route", []), ips=_list("FixedIP", [
        _object("FixedIP", address=address) for address in addresses if ipaddress.ip_address(address) in ipaddress.ip_network(cidr)]))
        for cidr in sorted(networks)]
    network = _object("Network", "1.1", id=network_id(pool), label=pool, bridge="br-shared", should_provide_bridge=False,
                      should_provide_vlan=False, subnets=_list("Subnet", subnets))
    return _object("VIFBridge", id=identifier, address=mac, network=network, plugin="linux_bridge", active=active,
                   preserve_on_delete=False, has_traffic_filtering=False, vif_name=f"tap{identifier[:11]}", bridge_name="br-shared")


def annotation(vifs):
    """vifs: {interface: VIF}, with eth0."""
    state = {"versioned_object.name": "PodState", "versioned_object.version": "1.0", "versioned_object.namespace": "os_vif",
             "versioned_object.data": {"default_vif": vifs["eth0"],
                                       "additional_vifs": {name: value for name, value in vifs.items() if name != "eth0"}}}
    return {ANNOTATION: json.dumps(state)}


def port(pod, vifs):
    """A KuryrPort of the pod, as kuryr-controller would write it."""
    metadata = pod["metadata"]
    node = pod["spec"].get("nodeName", "node1")
    return {"apiVersion": "openstack.org/v1", "kind": "KuryrPort",
            "metadata": {"name": metadata["name"], "labels": {"kuryr.openstack.org/nodeName": node},
                         "annotations": {"kuryr.openstack.org/planner": "kuryr-controller"},
                         "finalizers": ["kuryr.openstack.org/kuryrport-finalizer"],
                         "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": metadata["name"], "uid": metadata["uid"]}]},
            "spec": {"podUid": metadata["uid"], "podNodeName": node},
            "status": {"vifs": {name: {"default": name == "eth0", "vif": value} for name, value in vifs.items()}}}


def own_vifs(uid, pool, addresses, mac, active=True):
    return {"eth0": vif(vif_id(uid), pool, addresses, mac, active)}


def others_vifs(pool, addresses, mac, active=True):
    """As another producer would plan them."""
    return {"eth0": vif(str(uuid.uuid4()), pool, addresses, mac, active)}


def mac_of(address):
    """As kuryr-controller chooses it."""
    return ":".join(f"{byte:02x}" for byte in (0x0a, 0x58, *ipaddress.ip_address(address).packed))


def _hash(text, value=0xcbf29ce484222325):
    for byte in text.encode():
        value = ((value ^ byte) * 0x100000001b3) % MOST
    return value


def _id(what):
    high = _hash(f"kuryr-controller/backends/pools/{what}")
    high, low = f"{high:016x}", f"{_hash('low', high):016x}"
    return f"{high[:8]}-{high[8:12]}-8{high[13:]}-a{low[1:4]}-{low[4:]}"


def _object(name, version="1.0", **data):
    return {"versioned_object.name": name, "versioned_object.namespace": "os_vif", "versioned_object.version": version,
            "versioned_object.data": data}


def _list(name, objects):
    return _object(f"{name}List", objects=objects)
