"""ADD answers when OVN has wired the port, and not before."""
from ovn import exchange
from ovn.central import CONTROLLER
from ovn.exchange import FAMILIES
from ovn.node import AGENT, ALONE, MODES

TRY_AGAIN = 11
SHORT_SECONDS = 3
# So long an ADD is watched that must not answer yet; one that does so takes a tenth of it.
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


def claims_by_version(node, topology, mode):
    port = topology.add_port(1)
    made = node.sandbox(port, mode)
    topology.want_version(port, made.pod.uid)
    made.add().result()
    try:
        node.ovn.wait_for_claim(port.id)
    finally:
        made.delete().silent()


def waits_for_wiring(node, port, mode, pods):
    made = node.sandbox(port, mode)
    node.ovn.hold(CONTROLLER)
    try:
        call = made.start("ADD")
        node.wait_for_port(made)
        early = node.answers_within(call, WATCHED_SECONDS)
    finally:
        node.ovn.let_go(CONTROLLER)
    answer = node.finish_call(call, "ADD")
    wired = node.is_wired(port)
    try:
        answer.result()
        assert not early, "it answers before"
        assert wired, "it has answered without ovn-installed"
        for family in FAMILIES:
            exchange.ping_once(made, pods.all[AGENT, 1], family)
    finally:
        made.delete().silent()


def waits_for_old_pod(node, port, mode, pods):
    """As a StatefulSet makes a pod again, by name, with its port."""
    old = node.running_pod(port, mode)
    new = node.sandbox_of_successor(old)
    call = new.start("ADD")
    early = node.answers_within(call, WATCHED_SECONDS)
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
    first = node.running_pod(port, mode)
    second = node.second_sandbox(first)
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
    made = node.sandbox(port, ALONE, node.kuryr_conf(daemon_enabled="false", vif_annotation_timeout=SHORT_SECONDS))
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
