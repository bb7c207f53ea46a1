"""The form of results, version by version, as the specification has it."""
import ipaddress

from harness.expectation import expect

VERSIONS = ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]
NEW_INTERFACE_KEYS = {"mtu", "socketPath", "pciID"}
NEW_ROUTE_KEYS = {"mtu", "advmss", "priority", "table", "scope"}


def rank(version):
    """For comparisons; what is no version of the specification is none of ours."""
    return VERSIONS.index(version)


def old_form(version):
    return rank(version) < rank("0.3.0")


def addresses(result):
    """ADDRESS/PREFIX of any version's result."""
    old = [result[key]["ip"] for key in ("ip4", "ip6") if key in result]
    return old or [ip["address"] for ip in result.get("ips", [])]


def routes(result):
    """[(destination, gateway or None)]; a route without gateway has that of its family's address (0.1.0 to 0.2.0)."""
    lists = [result.get("routes")] + [result.get(key, {}).get("routes") for key in ("ip4", "ip6")]
    return [(route["dst"], route.get("gw")) for found in lists for route in found or []]


def container_interface(result, ifname):
    """(index, interface)"""
    found = [(i, each) for i, each in enumerate(result.get("interfaces", []))
             if each.get("name") == ifname and each.get("sandbox")]
    expect(len(found) == 1, f"not one interface {ifname} with a sandbox: {result.get('interfaces')}")
    return found[0]


def host_interfaces(result):
    return [each for each in result.get("interfaces", []) if not each.get("sandbox")]


def family(text):
    return ipaddress.ip_interface(text).version


def same_network(one, other):
    return ipaddress.ip_network(one, strict=False) == ipaddress.ip_network(other, strict=False)


def shape(value):
    """Keys without values."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items() if key not in NEW_INTERFACE_KEYS}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return type(value).__name__
