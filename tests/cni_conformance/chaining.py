"""CHN: plugins before and after ours in a list."""
import copy
import os

from cni_conformance.case import NotApplicable, case
from cni_conformance.needs import chained, need_plugin
from harness.expectation import expect
from harness.process import run
from harness.result_form import addresses, container_interface, family

FIRST = "02:11:22:33:44:55"


def previous(node, **members):
    """The result of a plugin before ours."""
    ips = [{"address": "192.0.2.5/24", "gateway": "192.0.2.1", "interface": 1},
           {"address": "fd00:5::5/64", "interface": 1}]
    if not node.at_least("1.0.0"):
        ips = [{**ip, "version": str(family(ip["address"]))} for ip in ips]
    return {
        "cniVersion": node.version,
        "interfaces": [{"name": "first0", "mac": FIRST}, {"name": "first1", "mac": FIRST, "sandbox": "/run/netns/first"}],
        "ips": ips,
        "routes": [{"dst": "198.51.100.0/24", "gw": "192.0.2.1"}, {"dst": "203.0.113.0/24"}],
        "dns": {"nameservers": ["192.0.2.53", "192.0.2.54"], "search": ["b.example", "a.example"]},
        **members,
    }


def begins_with(result, before, *keys):
    for key in keys:
        expect(result.get(key, [])[:len(before[key])] == before[key], f"{key} {result.get(key)}, not first {before[key]}")


@case("CHN-01", "MUST", "0.3.0", each=True)
def previous_result_is_passed(node):
    """prevResult is passed on, not ignored"""
    made, before = chained(node), previous(node)
    result = made.add(made.conf(prevResult=before)).result()
    begins_with(result, before, "interfaces", "ips")
    container_interface(result, made.ifname)


@case("CHN-02", "MUST", "0.3.0", each=True)
def order_and_strangers_are_kept(node):
    """order of interfaces, ips, routes and dns, and members unknown to us, are kept"""
    made, before = chained(node), previous(node, strange={"kept": [1, 2]})
    before["interfaces"][0]["strange"] = "kept"
    before["ips"][0]["strange"] = "kept"
    result = made.add(made.conf(prevResult=before)).result()
    begins_with(result, before, "interfaces", "ips", "routes")
    for list_ in ("nameservers", "search"):
        mine = result["dns"].get(list_, [])
        expect([each for each in mine if each in before["dns"][list_]] == before["dns"][list_], f"dns {result['dns']}")
    expect(result.get("strange") == {"kept": [1, 2]}, "an unknown member is gone")
    for ip in result["ips"][2:]:
        expect(ip.get("interface", 2) >= 2, f"our address has the index of another's interface: {ip}")


@case("CHN-03", "REF", "0.3.0", "0.4.0", each=True)
def previous_result_without_version(node):
    """a prevResult without cniVersion is of the configuration's"""
    made, before = chained(node), previous(node)
    del before["cniVersion"]
    begins_with(made.add(made.conf(prevResult=before)).result(), before, "interfaces", "ips")


@case("CHN-04", "REF", "0.3.0", each=True)
def previous_result_of_another_version(node):
    """a prevResult of another version is converted or error 6, never misread"""
    for version in ("0.4.0", "1.0.0", "7.7.7"):
        made, before = chained(node), previous(node)
        before["cniVersion"] = version
        for ip in before["ips"]:
            ip.pop("version", None)
            if version == "0.4.0":
                ip["version"] = str(family(ip["address"]))
        answer = made.add(made.conf(prevResult=before))
        if not answer.succeeded():
            answer.error(6)
            made.expect_gone("after a refused ADD")
            continue
        expect(version != "7.7.7", "a prevResult of an unknown version was taken")
        result = answer.result()
        expect(result["cniVersion"] == node.version, f"cniVersion {result['cniVersion']}")
        expect(addresses(result)[:2] == addresses(before), f"addresses {addresses(result)}")
        for ip in result["ips"]:
            expect(("version" in ip) != node.at_least("1.0.0"), f"ips has {ip}")


@case("CHN-05", "SHOULD", "0.3.0")
def existing_interface(node):
    """plugins that take any interface configure an existing one"""
    raise NotApplicable("for plugins that are agnostic of the interface's type; a plugin that makes interfaces is not")


@case("CHN-06", "MUST", "0.4.0", each=True)
def final_result(node):
    """DEL and CHECK get the list's final result; only our own are touched"""
    made = node.added()
    result = copy.deepcopy(made.result)
    run("ip", "link", "add", "bwp0123456789", "type", "veth", "peer", "name", "bwpeer")
    made.ip("link", "add", "later0", "type", "veth", "peer", "name", "later1")
    result["interfaces"] += [{"name": "bwp0123456789"}, {"name": "later0", "sandbox": made.netns_path}]
    made.check(result).silent()
    made.delete({**made.conf(), "prevResult": result}).silent()
    made.expect_gone()
    expect("bwp0123456789" in node.links() and made.link("later0"), "another plugin's interface is gone")
    run("ip", "link", "delete", "bwp0123456789")


NEXT = {
    "portmap": {"capabilities": {"portMappings": True},
                "runtimeConfig": {"portMappings": [{"hostPort": 18080, "containerPort": 80, "protocol": "tcp"}]}},
    "bandwidth": {"ingressRate": 1000000, "ingressBurst": 1000000, "egressRate": 1000000, "egressBurst": 1000000},
    "tuning": {"mtu": 1400},
    "firewall": {"backend": "iptables"},
    "sbr": {},
    "vrf": {"vrfname": "vrf0"},
}


@case("CHN-07", "MUST", "0.4.0", "1.0.0", each=True)
def plugins_after_ours(node):
    """our result is a prevResult that portmap, bandwidth, tuning, firewall, sbr and vrf accept"""
    folder = os.path.dirname(need_plugin(node, "tuning"))
    made = node.added()
    if not addresses(made.result):
        raise NotApplicable("the configuration gives no address")
    # Some kernels have no such devices.
    kernel_has_vrf = bool(run("sh", "-c", "ip link add vrf9 type vrf table 9 && ip link delete vrf9 && echo yes", check=False))
    for plugin, fields in NEXT.items():
        if plugin == "vrf" and not kernel_has_vrf or not os.path.exists(f"{folder}/{plugin}"):
            continue
        conf = {"cniVersion": node.version, "name": made.conf()["name"], "type": plugin, **fields,
                "prevResult": made.result}
        path = f"{folder}/{plugin}"
        made.call("ADD", conf, plugin=path).result()
        made.call("DEL", conf, plugin=path).silent()


@case("CHN-08", "HARD", "0.3.0", each=True)
def name_of_another_plugin(node):
    """after a plugin that made CNI_IFNAME: error, and its interface stays"""
    made = node.attachment()
    made.ip("link", "add", made.ifname, "type", "veth", "peer", "name", "other")
    index, before = made.index(), previous(node)
    before["interfaces"][1].update(name=made.ifname, sandbox=made.netns_path)
    made.add(made.conf(prevResult=before)).error()
    expect(made.present() and made.index() == index, "the other plugin's interface is gone")
