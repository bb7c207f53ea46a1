"""CHECK: it finds what is no longer as ADD left it, and changes nothing."""
import copy
import json

from cni_conformance.case import NotApplicable, case
from cni_conformance.delegate import Delegate
from cni_conformance.needs import need, need_ipam, need_no_plans, need_plugin, unplug
from cni_conformance.results import dual
from harness.expectation import expect
from harness.result_form import addresses, container_interface, family, routes

OTHER_MAC = "0a:58:0a:00:00:77"


def sound(node):
    """An attachment of which CHECK has no complaint, so that a later one is about what the case did."""
    made = node.added()
    made.check().silent()
    return made


@case("CHK-01", "MUST", "0.4.0", each=True)
def right_after_add(node):
    """right after ADD: success, and nothing on stdout"""
    node.added().check().silent()


@case("CHK-02", "SHOULD", "0.4.0", each=True)
def interface_missing(node):
    """the interface is missing: error"""
    made = sound(node)
    made.ip("link", "delete", made.ifname)
    made.check().error()


@case("CHK-03", "SHOULD", "0.4.0", each=True)
def address_missing(node):
    """an address is missing: error"""
    made = sound(node)
    if not addresses(made.result):
        raise NotApplicable("the configuration gives no address")
    made.ip("address", "delete", addresses(made.result)[0], "dev", made.ifname)
    made.check().error()


@case("CHK-04", "SHOULD", "0.4.0", each=True)
def route_missing(node):
    """a route is missing: error"""
    made = sound(node)
    given = [destination for destination, _ in routes(made.result) if family(destination) == 4]
    if not given:
        raise NotApplicable("the configuration gives no route")
    made.ip("route", "delete", given[0])
    made.check().error()


@case("CHK-05", "MUST", "0.4.0", each=True)
def later_plugins_may_add(node):
    """what a later plugin of the list added is no error: routes, addresses, links"""
    made = node.added()
    made.ip("route", "add", "198.51.100.0/24", "dev", made.ifname)
    made.ip("address", "add", "192.0.2.9/32", "dev", made.ifname)
    made.ip("link", "add", "later0", "type", "veth", "peer", "name", "later1")
    made.ip("link", "set", made.ifname, "txqueuelen", "500")
    made.check().silent()


@case("CHK-06", "MUST", "0.4.0", each=True)
def previous_result_missing(node):
    """without prevResult: error 7"""
    made = node.added()
    made.call("CHECK").error(7, ["prevResult"])


@case("CHK-07", "MUST", "0.4.0", each=True)
def link_layer_only(node):
    """an attachment without address checks clean"""
    need_no_plans(node)
    made = node.attachment(conf={"ipam": None})
    made.add().result()
    made.check().silent()


@case("CHK-08", "SHOULD", "0.4.0", each=True)
def link_down(node):
    """the link is down: error"""
    made = sound(node)
    made.ip("link", "set", made.ifname, "down")
    made.check().error()


@case("CHK-09", "SHOULD", "0.4.0", each=True)
def host_end_is_off_its_switch(node):
    """the host end is not in its bridge any more: error"""
    made = sound(node)
    unplug(made)
    made.check().error()


@case("CHK-10", "SHOULD", "0.4.0", each=True)
def other_mac(node):
    """the MAC differs from prevResult: error"""
    made = sound(node)
    made.ip("link", "set", made.ifname, "address", OTHER_MAC)
    made.check().error()


@case("CHK-11", "MUST", "0.4.0", each=True)
def mac_of_a_later_plugin(node):
    """a MAC that a later plugin changed, in prevResult too, is no error"""
    made = node.added()
    made.ip("link", "set", made.ifname, "address", OTHER_MAC)
    result = copy.deepcopy(made.result)
    container_interface(result, made.ifname)[1]["mac"] = OTHER_MAC
    made.check(result).silent()


@case("CHK-12", "SHOULD", "0.4.0", each=True)
def reservation_missing(node):
    """the address's reservation is missing: the delegate's CHECK says so, and its error is passed on"""
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    made.check().silent()
    expect(delegate.commands() == ["ADD", "CHECK"], f"the delegate got {delegate.commands()}")
    delegate.fail("CHECK", 123, "not reserved")
    made.check().error(123, ["not reserved"])


@case("CHK-13", "SHOULD", "1.1.0")
def other_mtu(node):
    """the MTU differs from prevResult: error"""
    made = sound(node)
    made.ip("link", "set", made.ifname, "mtu", "1311")
    made.check().error()


@case("CHK-14", "SHOULD", "0.4.0", each=True)
def one_family_missing(node):
    """dual stack: one family is missing: error"""
    for version in (4, 6):
        made = dual(node)
        made.check().silent()
        gone = next(a for a in addresses(made.result) if family(a) == version)
        made.ip("address", "delete", gone, "dev", made.ifname)
        made.check().error()
        made.delete().silent()


@case("CHK-15", "SHOULD", "0.4.0")
def other_state_of_the_port(node):
    """the switch's port has another VLAN tag, VLAN mode, marks or QoS: error"""
    need(node, "ovs")
    changes = [["remove", "Interface", "{port}", "external_ids", "iface-id"],
               ["remove", "Interface", "{port}", "external_ids", "kuryr-container-id"]]
    if not node.pods:
        # On a pod's port these are the affair of Neutron's agent.
        changes += [["set", "Port", "{port}", "tag=999"], ["set", "Port", "{port}", "vlan_mode=trunk", "trunks=1,2"],
                    ["clear", "Port", "{port}", "qos"]]
    for change in changes:
        made = sound(node)
        node.ovs.vsctl(*[word.format(port=made.host_end()["ifname"]) for word in change])
        answer = made.check()
        expect(not answer.succeeded(), f"no error after {' '.join(change)}")
        answer.error()


@case("CHK-16", "SHOULD", "0.4.0")
def switch_is_down(node):
    """Open vSwitch is down: error"""
    need(node, "ovs")
    made = sound(node)
    node.ovs.stop()
    made.check().error()


@case("CHK-17", "MUST", "0.4.0", each=True)
def immediately(node):
    """CHECK immediately after ADD allows for what has to converge"""
    for _ in range(5):
        made = node.added()
        made.check().silent()
        made.check().silent()


@case("CHK-18", "MUST", "0.4.0", each=True)
def other_sandbox(node):
    """a sandbox of prevResult that is not CNI_NETNS is an error; another path to the same is none"""
    made, other = sound(node), node.added()
    result = copy.deepcopy(made.result)
    container_interface(result, made.ifname)[1]["sandbox"] = other.netns_path
    made.check(result).error()
    made.check(CNI_NETNS="/run/netns/" + made.netns).silent()


@case("CHK-19", "HARD", "0.4.0")
def changes_nothing(node):
    """CHECK changes nothing"""
    made = node.added()

    def picture():
        # Counters, ages of entries and neighbours move by themselves, and so does the state of a link-local address.
        link = {key: value for key, value in made.link().items() if "time" not in key}
        for address in link["addr_info"]:
            address.pop("tentative", None)
        return json.dumps([link, made.routes(), sorted(node.remains()), node.switch.picture()], sort_keys=True)

    before = picture()
    made.check().silent()
    after = picture()
    expect(before == after, f"before: {before[:200]}; after: {after[:200]}")


@case("CHK-20", "MUST", "0.4.0", "1.0.0", each=True)
def resources_of_later_plugins(node):
    """what tuning (mtu, mac) and sbr (routes) behind ours changed is no error; what is ours alone is"""
    made = node.added()
    if not addresses(made.result):
        raise NotApplicable("the configuration gives no address")
    result = made.result
    for plugin, fields in {"tuning": {"mtu": 1400, "mac": OTHER_MAC}, "sbr": {}}.items():
        conf = {"cniVersion": node.version, "name": made.conf()["name"], "type": plugin, **fields, "prevResult": result}
        result = made.call("ADD", conf, plugin=need_plugin(node, plugin)).result()
    expect(made.link()["mtu"] == 1400, f"tuning left MTU {made.link()['mtu']}")
    made.check(result).silent()
    for table in {rule["table"] for rule in json.loads(made.ip("-j", "rule")) if rule["table"].isdigit()}:
        made.ip("route", "flush", "table", table)
    if any(family(destination) == 4 for destination, _ in routes(result)):
        made.check(result).error()
    made.ip("address", "delete", addresses(result)[0], "dev", made.ifname)
    made.check(result).error()
