"""ADD: what it makes, and what it leaves when it fails."""
import time

from cni_conformance.case import case
from cni_conformance.delegate import Delegate, ipam_result
from cni_conformance.needs import has_ipam, need, need_ipam, need_second_interface
from harness.expectation import expect
from harness.namespaces import WORK
from harness.result_form import addresses, container_interface, old_form, routes


@case("ADD-01", "MUST", "0.4.0", each=True)
def name_is_taken(node):
    """a name that exists in the container is an error"""
    made = node.attachment()
    made.ip("link", "add", made.ifname, "type", "veth", "peer", "name", "other")
    index = made.index()
    made.add().error()
    expect(made.index() == index, "the interface that was there is another now")


@case("ADD-02", "HARD", "0.4.0", each=True)
def existing_attachment_stays(node):
    """... and an existing attachment of that name is untouched"""
    made = node.added()
    before = (made.index(), made.addresses(), made.routes(), (made.host_end() or {}).get("master"))
    other = node.attachment(netns=made.netns)
    other.add().error()
    after = (made.index(), made.addresses(), made.routes(), (made.host_end() or {}).get("master"))
    expect(after == before, f"it was {before}, it is {after}")


@case("ADD-03", "MUST", each=True)
def no_namespace(node):
    """a CNI_NETNS that is not there is an error"""
    before = node.remains()
    node.attachment().add(CNI_NETNS="/var/run/netns/nowhere").error()
    node.expect_only(before, "after a failed ADD")


@case("ADD-04", "MUST")
def other_than_a_namespace(node):
    """a CNI_NETNS that is no network namespace is an error"""
    plain = WORK / "plain"
    plain.write_text("no namespace")
    for path in (str(plain), str(WORK), "/proc/self/ns/uts", "/dev/null"):
        before = node.remains()
        node.attachment().add(CNI_NETNS=path).error()
        node.expect_only(before, f"after ADD into {path}")


@case("ADD-05", "REF")
def own_namespace(node):
    """CNI_NETNS that is the plugin's own namespace is error 8, before anything is made"""
    before = node.remains()
    node.attachment(ifname="own0").add(CNI_NETNS="/proc/self/ns/net").error(8)
    node.expect_only(before, "after a refused ADD")


def unusable(node):
    """An address plugin one of whose addresses no kernel puts on a link."""
    delegate = Delegate(node)
    delegate.answer("ADD", ipam_result(node.version, "10.99.0.7/24", "ff02::77/64"))
    return delegate


@case("ADD-06", "HARD", "1.0.0")
def failure_leaves_nothing(node):
    """a failed ADD leaves no interface"""
    before = node.remains()
    if node.ovs:
        node.ovs.stop_vswitchd()
        made = node.attachment()
        made.add(made.conf(kuryr_conf=node.kuryr.write_conf(ovs_vsctl_timeout=2))).error()
        made.expect_gone("after a failed ADD")
        node.ovs.start_vswitchd()
        node.expect_only(before, "after a failed ADD")
    if not node.pods:
        need_ipam(node)
        made = unusable(node).attachment()
        made.add().error()
        made.expect_gone("after a failed ADD")
        node.expect_only(before, "after a failed ADD")


@case("ADD-07", "SHOULD", "0.3.0", each=True)
def failing_delegate_is_undone(node):
    """a delegate that fails its ADD gets a DEL"""
    need_ipam(node)
    delegate = Delegate(node)
    delegate.fail("ADD")
    before = node.remains()
    made = delegate.attachment()
    made.add().error()
    expect(delegate.commands() == ["ADD", "DEL"], f"the delegate got {delegate.commands()}")
    made.expect_gone("after a failed ADD")
    node.expect_only(before, "after a failed ADD")


@case("ADD-08", "SHOULD", "0.3.0")
def missing_delegate(node):
    """a delegate that is not there is an error, and nothing is left"""
    need_ipam(node)
    before = node.remains()
    made = node.attachment(conf={"ipam": {"type": "no-such-ipam"}})
    made.add().error(names=["no-such-ipam"])
    made.expect_gone("after a failed ADD")
    node.expect_only(before, "after a failed ADD")


@case("ADD-10", "MUST", each=True)
def one_document(node):
    """stdout is exactly one JSON document, of a result or of an error"""
    made = node.added()
    made.add(CNI_NETNS="/nowhere").error()
    if has_ipam(node):
        delegate = Delegate(node)
        delegate.fail("ADD")
        delegate.attachment().add().error()


@case("ADD-11", "MUST", "0.4.0", each=True)
def second_interface(node):
    """the same container and network with another ifname works"""
    need_second_interface(node)
    first = node.added()
    second = node.attachment(ifname="net1", beside=first)
    second.add().result()
    expect(first.present() and second.present(), "an interface is missing")
    second.delete().silent()
    first.delete().silent()


@case("ADD-12", "HARD", "0.4.0", each=True)
def added_twice(node):
    """ADD twice: an error or the same result, never a second interface"""
    made = node.added()
    index, links = made.index(), set(node.links())
    result = dict(made.result)
    answer = made.add()
    expect(answer.result() == result if answer.succeeded() else answer.error(), f"another result: {answer}")
    expect(made.index() == index, "another interface")
    expect(set(node.links()) == links, f"new links: {set(node.links()) - links}")
    if node.reservations():
        mine = [a for a, holder in node.reservations().items() if holder == made.container_id]
        expect(len(mine) <= len(addresses(result)), f"addresses reserved twice: {mine}")


@case("ADD-13", "MUST", "0.3.0", each=True)
def first_of_a_list(node):
    """as first plugin there is no prevResult, and the result has our interfaces only"""
    made = node.added()
    inside = [each["name"] for each in made.result["interfaces"] if each.get("sandbox")]
    expect(inside == [made.ifname], f"interfaces of the container: {inside}")
    expect("prevResult" not in made.result, "prevResult in the result")


@case("ADD-14", "MUST", each=True)
def kernel_agrees(node):
    """MTU, MAC, addresses and routes of the kernel equal the result"""
    made = node.added()
    link = made.link()
    expect("UP" in link["flags"], f"{made.ifname} is not up")
    expect(set(addresses(made.result)) == made.addresses(), f"{addresses(made.result)}; the kernel: {made.addresses()}")
    if not old_form(node.version):
        _, ours = container_interface(made.result, made.ifname)
        expect(ours["mac"] == link["address"], f"mac {ours['mac']}; the kernel: {link['address']}")
        expect(ours.get("mtu", link["mtu"]) == link["mtu"], f"mtu {ours.get('mtu')}; the kernel: {link['mtu']}")
    known = {(route["dst"], route.get("gateway")) for route in made.routes()}
    for destination, gateway in routes(made.result):
        name = "default" if destination in ("0.0.0.0/0", "::/0") else destination
        found = [g for d, g in known if d == name]
        expect(found and (gateway is None or gateway in found), f"route {destination} via {gateway}; the kernel: {known}")


@case("ADD-15", "SHOULD", "0.4.0")
def transient_condition(node):
    """a plan that is not there yet is awaited, then error 11"""
    need(node, "pods")
    before = node.remains()
    made = node.attachment(plan=None)
    made.add(made.conf(kuryr_conf=node.kuryr.write_conf(vif_annotation_timeout=1))).error(11)
    made.expect_gone("after a failed ADD")
    node.expect_only(before, "after a failed ADD")


@case("ADD-16", "SHOULD", "0.4.0")
def pod_is_gone(node):
    """a pod that is gone, or another of that name: error 3"""
    need(node, "pods")
    gone = node.attachment(active=False)
    process = gone.start("ADD")
    node.ovs.wait_for_port(gone.pod.plan.tap)
    node.pods.api.delete_pod(gone.pod)
    node.finish_call(process, "ADD").error(3)
    gone.expect_gone("after a failed ADD")
    other = node.attachment()
    other.args = other.args.replace("K8S_POD_UID=", "K8S_POD_UID=0")
    other.add().error(3)
    other.expect_gone("after a failed ADD")


@case("ADD-17", "HARD")
def own_deadline(node):
    """it answers before the runtime's deadline: error 11 with the cause, nothing left"""
    need(node, "pods")
    before = node.remains()
    made = node.attachment(active=False)
    error = made.add(made.conf(kuryr_conf=node.kuryr.write_conf(vif_annotation_timeout=1))).error(11)
    expect("active" in (error["msg"] + error.get("details", "")).lower(), f"no cause: {error}")
    made.expect_gone("after a failed ADD")
    node.expect_only(before, "after a failed ADD")


def killed_at_any_moment(node):
    """Kills ADDs at moments spread over the time that one takes."""
    before = node.remains()
    began = time.monotonic()
    node.added().delete().silent()
    whole = time.monotonic() - began
    for part in range(16):
        made = node.attachment()
        process = made.start("ADD")
        time.sleep(whole * part / 16)
        process.kill()
        process.communicate()
        made.call("DEL").silent()
        made.expect_gone("after a killed ADD and DEL")
        node.expect_only(before, f"after an ADD killed at {part}/16 of its time, and DEL")


@case("ADD-18", "HARD")
def killed(node):
    """killed at any moment; the following DEL leaves nothing"""
    killed_at_any_moment(node)


@case("CON-02", "HARD")
def killed_then_deleted(node):
    """SIGKILL anywhere in ADD, then DEL: nothing left"""
    killed_at_any_moment(node)
    if node.kuryr:
        expect(not node.kuryr.remains(), f"records are left: {node.kuryr.remains()}")
