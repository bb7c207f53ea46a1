"""GC: what is not listed goes, what is listed or another's stays."""
from cni_conformance.case import case
from cni_conformance.delegate import Delegate, add_that_waits
from cni_conformance.needs import FOREIGN_PORT, add_foreign_port, need, need_ipam
from harness.expectation import expect

KEYS = ("cni.dev/valid-attachments", "cni.dev/attachments")


def pair(made):
    return {"containerID": made.container_id, "ifname": made.ifname}


def vanished(node):
    """An attachment whose runtime forgot it: the namespace ended, and no DEL came."""
    made = node.added()
    node.end_namespace(made)
    return made


@case("GC-01", "SHOULD", "1.1.0")
def stale_are_removed(node):
    """all of attachments that are not listed is removed; an empty list means all; nothing on stdout"""
    before = node.remains()
    vanished(node)
    vanished(node)
    node.gc().silent()
    node.expect_only(before, "after GC")
    kept = node.added()
    held = node.remains()
    vanished(node)
    node.gc([kept]).silent()
    node.expect_only(held, "after GC")


@case("GC-02", "MUST", "1.1.0")
def listed_are_kept(node):
    """listed pairs of container and ifname are kept"""
    first = node.added()
    second = node.attachment(ifname="net1", beside=None if node.pods else first)
    second.add().result()
    stale = node.added()
    node.gc([first, second]).silent()
    for made in (first, second):
        expect(made.present(), f"{made.ifname} is gone")
        made.check().silent()
    node.gc([first]).silent()
    expect(first.present(), "the listed interface is gone")
    second.expect_gone("after GC that does not list it")
    stale.expect_gone("after GC that does not list it")


@case("GC-03", "REF", "1.1.0")
def both_keys(node):
    """the list is cni.dev/valid-attachments or cni.dev/attachments, the union of both"""
    first, second = node.added(), node.added()
    for lists in ({KEYS[0]: [pair(first), pair(second)]}, {KEYS[1]: [pair(first), pair(second)]},
                  {KEYS[0]: [pair(first)], KEYS[1]: [pair(second)]}):
        node.command("GC", node.conf(**lists)).silent()
        expect(first.present() and second.present(), f"collected in spite of {list(lists)}")


@case("GC-04", "HARD", "1.1.0")
def no_list(node):
    """without a list: error 7, everything kept"""
    made = node.added()
    node.command("GC", node.conf()).error(7)
    made.check().silent()


@case("GC-04b", "REF", "1.1.0")
def null_list(node):
    """null is an empty list"""
    before = node.remains()
    vanished(node)
    node.command("GC", {**node.conf(), KEYS[0]: None}).silent()
    node.expect_only(before, "after GC")


@case("GC-05", "MAY", "1.1.0")
def living_namespace(node):
    """the stale interface goes from a namespace that lives, too"""
    made = node.added()
    node.gc().silent()
    made.expect_gone("after GC")


@case("GC-06", "MUST", "1.1.0")
def delegate_gets_it(node):
    """GC is forwarded to the delegate, with the same configuration and environment"""
    need_ipam(node)
    delegate = Delegate(node)
    conf = {**delegate.conf(), KEYS[0]: []}
    node.command("GC", conf, CNI_PATH=delegate.cni_path(), OTHER_VARIABLE="kept").silent()
    expect(delegate.commands() == ["GC"], f"the delegate got {delegate.commands()}")
    _, env, stdin = next(call for call in delegate.calls() if call[0] == "GC")
    expect(stdin == conf, f"the delegate's configuration: {stdin}")
    expect(env.get("OTHER_VARIABLE") == "kept", "the environment was not passed on")


@case("GC-07", "SHOULD", "1.1.0")
def errors_do_not_stop_it(node):
    """an error does not stop the work: it goes on, and tells at the end"""
    need_ipam(node)
    before = node.remains()
    delegate = Delegate(node)
    for _ in range(2):
        made = delegate.attachment()
        made.add().result()
        node.end_namespace(made)
    delegate.fail("DEL", 123, "no release today")
    delegate.fail("GC", 124, "no collection today")
    node.command("GC", {**delegate.conf(), KEYS[0]: []}, CNI_PATH=delegate.cni_path()).error(names=["no collection today"])
    node.expect_only(before, "after GC whose delegate failed", but=["record"])
    delegate.do("DEL", "")
    delegate.do("GC", "")
    node.command("GC", {**delegate.conf(), KEYS[0]: []}, CNI_PATH=delegate.cni_path()).silent()
    node.expect_only(before, "after GC")


@case("GC-08", "MUST", "1.1.0")
def other_networks_stay(node):
    """other networks' attachments and other owners' ports are untouched"""
    other = node.attachment(conf={"name": "othernet"})
    other.add().result()
    add_foreign_port(node)
    node.gc().silent()
    expect(other.present(), "the other network's interface is gone")
    other.check().silent()
    expect(node.switch.has(FOREIGN_PORT), "a foreign port is gone")


@case("GC-09", "HARD", "1.1.0")
def an_add_is_running(node):
    """an attachment that is being added right now survives"""
    made, process, go_on = add_that_waits(node)
    answer = node.gc(conf=made.conf(), CNI_PATH=made.environment("GC")["CNI_PATH"])
    if node.pods:
        answer.silent()
    go_on()
    made.result = node.finish_call(process, "ADD").result()
    expect(made.present(), "no interface")
    made.check().silent()


@case("GC-10", "HARD", "1.1.0")
def with_services_down(node):
    """with the API server down, all is collected; with Open vSwitch down, the rest, and then it"""
    need(node, "ovs")
    before = node.remains()
    if node.pods:
        vanished(node)
        node.pods.api.stop()
        node.gc().silent()
        node.expect_only(before, "after GC without API server")
        return
    vanished(node)
    node.ovs.stop()
    node.gc().error()
    expect(not node.reservations(), f"addresses are still reserved: {node.reservations()}")
    node.ovs.start()
    node.gc().silent()
    node.expect_only(before, "after GC with Open vSwitch back")
