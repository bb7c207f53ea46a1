"""DEL: it cleans up, whatever is missing, and touches nothing else."""
import os

from cni_conformance.case import case
from cni_conformance.delegate import Delegate
from cni_conformance.needs import lose_state, need, need_ipam, need_second_interface
from harness.expectation import expect
from harness.pod import ANNOTATION
from harness.process import run


@case("DEL-01", "MUST", each=True)
def success_is_silent(node):
    """exit status 0, empty stdout"""
    node.added().delete().silent()


@case("DEL-02", "SHOULD", each=True)
def all_is_gone(node):
    """the interface and all that was made with it are gone"""
    before = node.remains()
    made = node.added()
    made.delete().silent()
    made.expect_gone()
    node.expect_only(before)


@case("DEL-03", "MUST", "0.4.0", each=True)
def again(node):
    """a second and a third DEL succeed"""
    made = node.added()
    for _ in range(3):
        made.delete().silent()


@case("DEL-04", "MUST", "0.4.0", each=True)
def never_added(node):
    """DEL of what was never added succeeds"""
    node.attachment().delete().silent()


def without_namespace(node, value):
    before = node.remains()
    made = node.added()
    made.delete(CNI_NETNS=value).silent()
    if node.kuryr:
        node.expect_only(before, "after DEL, with the namespace still there")
    node.end_namespace(made)
    node.expect_only(before, "after DEL, and the end of the namespace")


@case("DEL-05", "SHOULD", "0.4.0", each=True)
def netns_empty(node):
    """CNI_NETNS empty: cleans what it can, succeeds"""
    without_namespace(node, "")


@case("DEL-06", "SHOULD", "0.4.0", each=True)
def netns_unset(node):
    """CNI_NETNS unset: the same"""
    without_namespace(node, None)


@case("DEL-07", "SHOULD", "0.3.0", each=True)
def netns_gone(node):
    """a CNI_NETNS that is gone: success"""
    made = node.added()
    node.end_namespace(made)
    made.delete().silent()
    made.delete(made.conf()).silent()


@case("DEL-08", "SHOULD", "0.3.0", each=True)
def netns_gone_releases(node):
    """... and its address is released all the same"""
    need_ipam(node)
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    node.end_namespace(made)
    made.delete().silent()
    expect("DEL" in delegate.commands(), f"the delegate got {delegate.commands()}")


@case("DEL-09", "HARD")
def netns_is_another(node):
    """CNI_NETNS is now something else: success, and a foreign interface of that name stays"""
    made = node.added()
    node.end_namespace(made)
    with open(made.netns_path, "w", encoding="ascii"):
        pass
    made.delete().silent()
    os.unlink(made.netns_path)
    reused = node.added()
    node.end_namespace(reused)
    run("ip", "netns", "add", reused.netns)
    reused.ip("link", "add", reused.ifname, "type", "veth", "peer", "name", "other")
    index = reused.index()
    reused.delete().silent()
    expect(reused.present() and reused.index() == index, f"{reused.ifname} of another container is gone")


@case("DEL-10", "SHOULD", "0.4.0", each=True)
def no_previous_result(node):
    """without prevResult: success, nothing left"""
    before = node.remains()
    made = node.added()
    made.delete(made.conf()).silent()
    made.expect_gone()
    node.expect_only(before)


@case("DEL-11", "MUST", "0.4.0", each=True)
def other_interface_stays(node):
    """another attachment of the container is untouched"""
    need_second_interface(node)
    first = node.added()
    second = node.attachment(ifname="net1", beside=first)
    second.add().result()
    index, have = first.index(), first.addresses()
    second.delete().silent()
    second.expect_gone()
    expect((first.index(), first.addresses()) == (index, have), "the first attachment changed")
    expect(first.present() and "UP" in first.link()["flags"], "the first attachment is not up")


@case("DEL-12", "HARD")
def stale(node):
    """a DEL of an older container does not unplug the present one of that namespace and name"""
    made = node.added()
    index, host = made.index(), made.host_end()
    older = node.attachment(netns=made.netns, like=made)
    older.call("DEL", older.conf(prevResult=made.result) if node.at_least("0.4.0") else None).silent()
    expect(made.present() and made.index() == index, "the present interface is gone")
    expect((made.host_end() or {}).get("master") == (host or {}).get("master"), "its host end was moved")
    older.call("DEL", CNI_NETNS="").silent()
    expect(made.present() and made.index() == index, "the present interface is gone after DEL without CNI_NETNS")


@case("DEL-13", "HARD", "0.4.0", each=True)
def unreadable_previous_result(node):
    """a prevResult that cannot be read: it still cleans, and succeeds"""
    for junk in ("text", {"cniVersion": node.version, "ips": "junk"}, {"cniVersion": "7.7.7"}, [1], 5):
        before = node.remains()
        made = node.added()
        made.delete(made.conf(prevResult=junk)).silent()
        made.expect_gone(f"after DEL with prevResult {junk}")
        node.expect_only(before, f"after DEL with prevResult {junk}")


@case("DEL-14", "MUST", "0.3.0", each=True)
def failing_delegate(node):
    """the delegate gets DEL; its error is returned after our own clean-up"""
    need_ipam(node)
    before = node.remains()
    delegate = Delegate(node)
    made = delegate.attachment()
    made.add().result()
    delegate.fail("DEL", 123, "no release today")
    made.delete().error(123, ["no release today"])
    made.expect_gone("after DEL whose delegate failed")
    node.expect_only(before, "after DEL whose delegate failed", but=["record"])
    delegate.do("DEL", "")
    made.delete().silent()
    expect(delegate.commands()[1:] == ["DEL", "DEL"], f"the delegate got {delegate.commands()}")
    node.expect_only(before)


@case("DEL-15", "HARD", "0.4.0")
def state_is_lost(node):
    """with its state lost, DEL finds by names and marks what ADD made"""
    before = node.remains()
    for netns_too in (False, True):
        made = node.added()
        lose_state()
        if netns_too:
            made.delete(made.conf(), CNI_NETNS="").silent()
            node.end_namespace(made)
        else:
            made.delete().silent()
            made.expect_gone()
        node.expect_only(before)


@case("DEL-16", "HARD", "0.4.0")
def without_api_server(node):
    """plan gone, pod gone, API server down: DEL succeeds"""
    need(node, "pods")
    before = node.remains()
    planless, podless, apiless = node.added(), node.added(), node.added()
    node.pods.api.annotate(planless.pod, {ANNOTATION: None})
    planless.delete().silent()
    node.pods.api.delete_pod(podless.pod)
    podless.delete().silent()
    node.pods.api.stop()
    apiless.delete().silent()
    for made in (planless, podless, apiless):
        made.expect_gone()
    node.expect_only(before)


@case("DEL-17", "HARD", "0.4.0")
def agent_is_down(node):
    """agent down: DEL is done or durably queued"""
    need(node, "agents")
    before = node.remains()
    made = node.added()
    node.agents.kill()
    made.delete().silent()
    node.expect_only(before)


@case("DEL-18", "HARD", "0.4.0")
def netns_destroyed_first(node):
    """namespace destroyed before DEL: host end, ports of the switch, QoS, addresses, rules are gone"""
    before = node.remains()
    made = node.added()
    node.end_namespace(made)
    made.delete().silent()
    node.expect_only(before)


@case("DEL-19", "REF", each=True)
def twice_as_containerd_does(node):
    """containerd's pair: DEL with namespace and prevResult, then DEL without either"""
    before = node.remains()
    made = node.added()
    made.delete().silent()
    made.delete(made.conf(), CNI_NETNS="").silent()
    made.expect_gone()
    node.expect_only(before)


@case("DEL-20", "REF", each=True)
def once_as_ctr_does(node):
    """ctr run --rm: the only DEL comes without namespace, which ends after it"""
    before = node.remains()
    made = node.added()
    made.delete(made.conf(), CNI_NETNS="").silent()
    node.end_namespace(made)
    node.expect_only(before)


@case("DEL-21", "HARD", "0.4.0")
def waits_for_no_plan(node):
    """DEL waits for no VIF that will not come"""
    need(node, "pods")
    made = node.attachment(plan=None)
    node.call(made.conf(), made.environment("DEL"), seconds=20).silent()
    silent = node.added()
    node.pods.api.fault(kind="hang_connections", count=1000)
    node.call(silent.with_result(), silent.environment("DEL"), seconds=20).silent()
    silent.expect_gone()
