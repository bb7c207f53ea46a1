"""RES: the form of results and their conversion between versions."""
import ipaddress
import os
import stat
from pathlib import Path

from cni_conformance.case import NotApplicable, case
from cni_conformance.delegate import Delegate, ipam_result
from cni_conformance.needs import chained, need, need_ipam, need_no_plans
from harness.expectation import expect
from harness.result_form import (NEW_INTERFACE_KEYS, NEW_ROUTE_KEYS, addresses, container_interface, family,
                                 host_interfaces, old_form, routes, same_network, shape)


def need_addresses(result):
    if not addresses(result):
        raise NotApplicable("the configuration gives no address")


@case("RES-01", "MUST", until="0.2.0", each=True)
def first_form(node):
    """0.1.0, 0.2.0: ip4, ip6 with ip, gateway, routes; no interfaces, no ips"""
    result = node.added().result
    need_addresses(result)
    expect(not {"interfaces", "ips"} & set(result), f"members of later versions: {result}")
    for key, version in (("ip4", 4), ("ip6", 6)):
        if key in result:
            expect(set(result[key]) <= {"ip", "gateway", "routes"}, f"{key} has {sorted(result[key])}")
            expect(family(result[key]["ip"]) == version, f"{key} is {result[key]['ip']}")
            for route in result[key].get("routes") or []:
                expect(set(route) <= {"dst", "gw"}, f"route {route}")


@case("RES-02", "MUST", "0.3.0", "0.4.0", each=True)
def families_are_said(node):
    """0.3.0 to 0.4.0: ips[] with version "4" or "6" """
    result = node.added().result
    need_addresses(result)
    for ip in result["ips"]:
        expect(ip.get("version") == str(family(ip["address"])), f"ips has {ip}")


@case("RES-03", "MUST", "1.0.0", each=True)
def families_are_not_said(node):
    """from 1.0.0: ips[] has no version"""
    for ip in node.added().result.get("ips", []):
        expect("version" not in ip, f"ips has {ip}")


@case("RES-04", "MUST", "0.3.0", each=True)
def addresses_have_their_interface(node):
    """ips[].interface is the index of the container's interface"""
    made = node.added()
    need_addresses(made.result)
    index, _ = container_interface(made.result, made.ifname)
    for ip in made.result["ips"]:
        expect(ip.get("interface") == index, f"interface {ip.get('interface')}, not {index}")


@case("RES-05", "MUST", "0.3.0", each=True)
def sandbox(node):
    """sandbox is CNI_NETNS for the container's interfaces, absent or empty for the host's"""
    made = node.added()
    container_interface(made.result, made.ifname)
    for interface in made.result["interfaces"]:
        said = interface.get("sandbox", "")
        expect(said in ("", made.netns_path), f"sandbox {said}")
        here = interface["name"] in node.links()
        expect(said or here or made.link(interface["name"]) is None, f"{interface['name']} is the container's")


@case("RES-06", "MUST", "0.3.0", each=True)
def macs_are_the_kernels(node):
    """mac is the kernel's, of each interface, after all changes"""
    made = node.added()
    _, ours = container_interface(made.result, made.ifname)
    expect(ours.get("mac", "").lower() == made.link()["address"], f"mac {ours.get('mac')}, not {made.link()['address']}")
    for interface in host_interfaces(made.result):
        link = node.links().get(interface["name"])
        if link and interface.get("mac"):
            expect(interface["mac"].lower() == link["address"], f"{interface}; the kernel says {link['address']}")


def dual(node):
    """An attachment with an address of each family."""
    made = node.added()
    if {family(a) for a in addresses(made.result)} == {4, 6}:
        return made
    need_ipam(node)
    delegate = Delegate(node)
    delegate.answer("ADD", ipam_result(node.version, "10.99.0.7/24", "fd00:99::7/64"))
    made = delegate.attachment()
    made.add().result()
    return made


@case("RES-07", "MUST", "0.3.0", each=True)
def dual_stack(node):
    """dual stack: an entry for each family, in CIDR form with host bits"""
    made = dual(node)
    expect(len(addresses(made.result)) == 2, f"addresses {addresses(made.result)}")
    for address in addresses(made.result):
        parsed = ipaddress.ip_interface(address)
        expect("/" in address and parsed.ip != parsed.network.network_address, f"address {address}")
        expect(address in made.addresses(), f"{address} is not in the container: {made.addresses()}")


@case("RES-08", "MUST", "1.1.0")
def mtu_is_said(node):
    """interfaces[].mtu is given, and the kernel's"""
    made = node.added()
    _, ours = container_interface(made.result, made.ifname)
    expect(ours.get("mtu") == made.link()["mtu"], f"mtu {ours.get('mtu')}; the kernel says {made.link()['mtu']}")


@case("RES-09", "MUST", until="1.0.0", each=True)
def no_new_interface_members(node):
    """before 1.1.0 there is no mtu, socketPath, pciID"""
    for interface in node.added().result.get("interfaces", []):
        expect(not NEW_INTERFACE_KEYS & set(interface), f"interface {interface}")


@case("RES-10", "MUST", "1.1.0")
def vhost_user_socket(node):
    """socketPath of a vhost-user interface is absolute, and a socket"""
    need(node, "pods")
    node.ovs.start_vswitchd_with_dpdk()
    folder = Path("/run/vhostuser")
    folder.mkdir()
    conf = node.kuryr.write_conf(mount_point=folder, ovs_vhu_path="/run/openvswitch", drivers="vhostuser")
    made = node.attachment(conf={"kuryr_conf": conf}, vhost_user=folder)
    interfaces = made.add().result()["interfaces"]
    paths = [each["socketPath"] for each in interfaces if "socketPath" in each]
    expect(paths and all(os.path.isabs(path) and stat.S_ISSOCK(os.stat(path).st_mode) for path in paths),
           f"interfaces {interfaces}")


@case("RES-11", "MUST", "1.1.0")
def members_of_routes(node):
    """mtu, advmss, priority, table, scope of a route are kept, and in the kernel"""
    need_ipam(node)
    delegate = Delegate(node)
    route = {"dst": "198.51.100.0/24", "gw": "10.99.0.1", "mtu": 1300, "advmss": 1200, "priority": 77, "table": 100}
    link_route = {"dst": "203.0.113.0/24", "scope": 253, "priority": 5}
    delegate.answer("ADD", ipam_result("1.1.0", "10.99.0.7/24", routes=[route, link_route]))
    made = delegate.attachment()
    result = made.add().result()
    expect(result.get("routes") == [route, link_route], f"routes {result.get('routes')}")
    said = made.ip("route", "show", "table", "100")
    for word in ("198.51.100.0/24 via 10.99.0.1", "metric 77", "mtu 1300", "advmss 1200"):
        expect(word in said, f"the kernel has not {word}: {said}")
    said = made.ip("route", "show", "203.0.113.0/24")
    expect("scope link" in said and "metric 5" in said, f"the kernel says {said}")


@case("RES-12", "MUST", "0.3.0", each=True)
def all_interfaces_are_listed(node):
    """every interface that was made is listed, the host's too"""
    before = set(node.links())
    made = node.added()
    listed = {each["name"] for each in made.result["interfaces"]}
    unlisted = {name for name in set(node.links()) - before - listed if name not in node.switch.links()}
    expect(not unlisted, f"not listed: {', '.join(sorted(unlisted))}")
    expect(made.ifname in listed, f"{made.ifname} is not listed")


@case("RES-13", "MUST", "0.4.0", each=True)
def routes_are_of_one_family(node):
    """every address of a route is of one family, and the interface has an address of it"""
    result = node.added().result
    have = {family(a) for a in addresses(result)}
    for destination, gateway in routes(result):
        expect(family(destination) in have, f"route to {destination}, and no address of that family")
        expect(gateway is None or family(gateway) == family(destination), f"route to {destination} via {gateway}")


@case("RES-14", "SHOULD")
def default_routes(node):
    """routes have metric 0, and a default route of another network does not fail a second ADD"""
    made = node.added()
    for route in made.routes():
        if route.get("dst") == "default" and "via" in str(route) and ":" not in route.get("gateway", ":"):
            expect(route.get("metric", 0) == 0, f"route {route}")
    if node.pods:
        return
    second = node.attachment(ifname="eth1", beside=made)
    second.add().result()
    expect(made.present() and second.present(), "an interface is missing")


@case("RES-15", "REF", until="0.2.0", each=True)
def down_conversion(node):
    """to 0.2.0 and before: the first address of each family, and only dst and gw of routes"""
    if node.pods:
        made = node.attachment(second_address="10.10.1.99")
    else:
        need_ipam(node)
        delegate = Delegate(node)
        newer = ipam_result("0.4.0", "10.99.0.7/24", "10.99.0.8/24", "fd00:99::7/64")
        newer["routes"] = [{"dst": "198.51.100.0/24", "gw": "10.99.0.1"}]
        delegate.answer("ADD", newer)
        made = delegate.attachment()
    result = made.add().result()
    first = made.pod.plan.cidr if node.pods else "10.99.0.7/24"
    expect(result["ip4"]["ip"] == first, f"ip4 {result['ip4']}")
    expect("ip6" in result, f"no ip6: {result}")
    for route in result["ip4"].get("routes") or []:
        expect(set(route) <= {"dst", "gw"}, f"route {route}")


@case("RES-16", "REF", each=True)
def link_layer_only(node):
    """a result without address is an error up to 0.2.0, and none from 0.3.0"""
    need_no_plans(node)
    answer = node.attachment(conf={"ipam": None}).add()
    if old_form(node.version):
        answer.error()
    else:
        expect(not answer.result().get("ips"), f"addresses from nowhere: {answer}")


@case("RES-17", "REF", "0.3.0", each=True)
def up_conversion(node):
    """a prevResult of 0.2.0 is converted: version derived, no index of an interface"""
    made = chained(node)
    previous = {"cniVersion": "0.2.0", "ip4": {"ip": "192.0.2.5/24", "gateway": "192.0.2.1"}, "ip6": {"ip": "fd00:5::5/64"}}
    result = made.add(made.conf(prevResult=previous)).result()
    theirs = [ip for ip in result["ips"] if ip["address"] in ("192.0.2.5/24", "fd00:5::5/64")]
    expect(len(theirs) == 2, f"ips {result['ips']}")
    for ip in theirs:
        expect("interface" not in ip, f"ips has {ip}")
        expect(ip.get("version") == (None if node.at_least("1.0.0") else str(family(ip["address"]))), f"ips has {ip}")


@case("RES-18", "REF", "0.3.0")
def unusual_addresses(node):
    """v4-mapped v6, /31, /32, /127, /128 and a gateway outside the subnet survive unchanged"""
    need_ipam(node)
    for address in ("10.99.1.0/31", "10.99.1.4/32", "fd00:99:1::/127", "fd00:99:1::4/128", "::ffff:10.99.1.9/128"):
        delegate = Delegate(node)
        delegate.answer("ADD", ipam_result(node.version, address))
        made = delegate.attachment()
        result = made.add(made.conf(isGateway=False)).result()
        expect(addresses(result) == [address], f"{address} became {addresses(result)}")
        expect(result["ips"][0].get("gateway") in ("10.99.0.1", "fd00:99::1"), f"gateway of {result['ips'][0]}")
        expect(address in made.addresses(), f"the kernel has {made.addresses()}, not {address}")
        made.delete().silent()


@case("RES-19", "REF", each=True)
def empty_members(node):
    """empty routes are omitted, dns too or {}; null is accepted for each"""
    need_ipam(node)
    delegate = Delegate(node)
    nulls = {"dns": None} if old_form(node.version) else {"dns": None, "routes": None}
    delegate.answer("ADD", ipam_result(node.version, "10.99.0.7/24", **nulls))
    made = delegate.attachment()
    result = made.add(made.conf(isDefaultGateway=None, dns=None)).result()
    expect(result.get("dns", {}) == {}, f"dns {result.get('dns')}")
    expect(result.get("routes", "none") != [], "routes is empty, not omitted")


@case("RES-20", "MUST", "0.3.0", each=True)
def indices_are_filled_in(node):
    """a delegate's addresses get the index of our interface"""
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    index, _ = container_interface(made.result, made.ifname)
    expect([ip.get("interface") for ip in made.result["ips"]] == [index], f"ips {made.result['ips']}")


@case("RES-21", "REF", "1.1.0")
def newest_differ_little(node):
    """1.0.0 and 1.1.0 differ by cniVersion and the new members of interfaces alone"""
    newer = node.added().result
    node.version = "1.0.0"
    older = node.added().result
    expect(shape(newer) == shape(older), f"1.1.0: {newer}; 1.0.0: {older}")
    for route in older.get("routes", []):
        expect(not NEW_ROUTE_KEYS & set(route), f"route {route}")
    expect(all(same_network(a, b) for (a, _), (b, _) in zip(routes(newer), routes(older))), "other routes")


@case("RES-22", "HARD", "0.3.0", each=True)
def next_hops(node):
    """two gateways of one destination: the kernel has all that the result tells"""
    need_ipam(node)
    delegate = Delegate(node)
    gateways = ("10.99.0.1", "10.99.0.2")
    delegate.answer("ADD", ipam_result(node.version, "10.99.0.7/24",
                                       routes=[{"dst": "198.51.100.0/24", "gw": gateway} for gateway in gateways]))
    made = delegate.attachment()
    answer = made.add()
    if not answer.succeeded():
        answer.error()
        return
    told = [gateway for destination, gateway in routes(answer.result()) if destination == "198.51.100.0/24"]
    expect(told == list(gateways), f"the result tells of {told}")
    found = [hop.get("gateway") for route in made.routes() if route["dst"] == "198.51.100.0/24"
             for hop in route.get("nexthops", [route])]
    expect(sorted(found) == sorted(told), f"the kernel has {found}")
