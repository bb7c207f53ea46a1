"""ADD answers when OVN has wired the port, and not before."""
import subprocess

from ovn import exchange
from ovn.central import CONTROLLER
from ovn.exchange import FAMILIES
from ovn.node import AGENT, ALONE, MODES, running_pod, sandbox, sandbox_of_successor, second_sandbox

TRY_AGAIN = 11
SHORT_SECONDS = 3
# An ADD that must not answer yet is watched so long; one that answers takes a tenth of it.
WATCHED_SECONDS = 1


def check(facts, node, topology, pods):
    for mode in MODES:
        with facts.fact(f"{mode}: OVN claims a port that wants the pod's UID as iface-id-ver"):
            claims_by_version(node, topology, mode)
        with facts.fact(f"{mode}: ADD answers when ovn-controller has wired the port, not while it is busy"):
            waits_for_wiring(node, topology.add_port(1), mode, pods)
        with facts.fact(f"{mode}: ADD waits for a port that the sandbox of the pod before still holds"):
            waits_for_old_pod(node, topology.add_port(1), mode, pods)
        with facts.fact(f"{mode}: a pod's second sandbox takes its port over, and keeps it after the first one's late DEL"):
            takes_over(node, topology.add_port(1), mode, pods)
    with facts.fact("ADD fails with code 11 when OVN does not claim the port in time, and leaves nothing"):
        gives_up(node, topology.add_port(1))
    with facts.fact("ADD fails with code 11 while ovs-vswitchd refuses OVN's flows, and answers when it takes them"):
        sees_flows(node, topology.add_port(1))


def claims_by_version(node, topology, mode):
    port = topology.add_port(1)
    made = sandbox(node, port, mode)
    topology.want_version(port, made.pod.uid)
    made.add().result()
    try:
        node.ovn.wait_for_claim(port.id)
    finally:
        made.delete().silent()


def answers_within(call, seconds):
    try:
        call.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def waits_for_wiring(node, port, mode, pods):
    made = sandbox(node, port, mode)
    node.ovn.hold(CONTROLLER)
    try:
        call = made.start("ADD")
        node.ovs.wait_for_port(made.pod.plan.tap)
        early = answers_within(call, WATCHED_SECONDS)
    finally:
        node.ovn.let_go(CONTROLLER)
    answer = node.finish_call(call, "ADD")
    wired = node.ovn.is_wired(port)
    try:
        answer.result()
        assert not early, "it answers before"
        assert wired, "it has answered without ovn-installed"
        for family in FAMILIES:
            exchange.ping_once(made, pods.all[AGENT, 1], family)
    finally:
        made.delete().silent()


def waits_for_old_pod(node, port, mode, pods):
    """A StatefulSet makes a pod again so: by name, with its port."""
    old = running_pod(node, port, mode)
    new = sandbox_of_successor(old)
    call = new.start("ADD")
    early = answers_within(call, WATCHED_SECONDS)
    old.delete().silent()
    answer = node.finish_call(call, "ADD")
    try:
        assert not early, f"it does not: {answer}"
        answer.result()
        node.ovn.wait_for_claim(port.id)
        exchange.ping(new, pods.all[AGENT, 1], 4)
    finally:
        new.delete().silent()


def takes_over(node, port, mode, pods):
    first = running_pod(node, port, mode)
    second = second_sandbox(first)
    second.add().result()
    first.delete().silent()
    try:
        node.ovn.sync()
        node.ovn.wait_for_claim(port.id)
        exchange.ping(second, pods.all[AGENT, 1], 4)
    finally:
        second.delete().silent()


def gives_up(node, port):
    before = node.remains()
    made = sandbox(node, port, ALONE, node.kuryr.write_conf(daemon_enabled="false", vif_annotation_timeout=SHORT_SECONDS))
    node.ovn.hold(CONTROLLER)
    try:
        answer = made.add()
    finally:
        node.ovn.let_go(CONTROLLER)
    try:
        answer.error(TRY_AGAIN, ["OVN has not claimed", port.tap])
        node.expect_only(before, "after the ADD")
    finally:
        made.delete().silent()


def refuse_flows(ovs):
    """A full table refuses all flows that come in one bundle. Returns what undoes it. OVN 25.03 keeps a Flow_Table of its
    own for each table, and puts it in the place of others."""
    full = ("flow_limit=1", "overflow_policy=refuse")
    ovns = ovs.vsctl("--if-exists", "get", "Bridge", ovs.bridge, "flow_tables:0").strip()
    if ovns:
        ovs.vsctl("set", "Flow_Table", ovns, *full)
        return ("clear", "Flow_Table", ovns, "flow_limit", "overflow_policy")
    ovs.vsctl("--id=@full", "create", "Flow_Table", *full, "--", "set", "Bridge", ovs.bridge, "flow_tables:0=@full")
    return ("clear", "Bridge", ovs.bridge, "flow_tables")


def sees_flows(node, port):
    conf = node.kuryr.write_conf(daemon_enabled="false", vif_annotation_timeout=SHORT_SECONDS)
    undo = refuse_flows(node.ovs)
    made = sandbox(node, port, ALONE, conf)
    try:
        made.add().error(TRY_AGAIN, [port.tap, f"bridge {node.ovs.bridge} has no flows of it"])
    finally:
        node.ovs.vsctl(*undo)
        made.delete().silent()
    running_pod(node, port, ALONE).delete().silent()
