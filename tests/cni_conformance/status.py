"""STATUS: ready, or why not."""
from cni_conformance.case import case
from cni_conformance.delegate import Delegate
from cni_conformance.needs import need, need_ipam, need_no_agents
from harness.expectation import expect


@case("STA-01", "MUST", "1.1.0")
def ready(node):
    """ready: success, empty stdout, no attachment variables"""
    node.status().silent()


@case("STA-02", "MUST", "1.1.0")
def path_is_optional(node):
    """CNI_PATH is optional"""
    node.status(node.conf(ipam=None), CNI_PATH=None).silent()


@case("STA-03", "MUST", "1.1.0")
def delegate_is_asked(node):
    """the delegate's STATUS is executed, its error is ours"""
    need_ipam(node)
    delegate = Delegate(node)
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).silent()
    expect(delegate.commands() == ["STATUS"], f"the delegate got {delegate.commands()}")
    delegate.fail("STATUS", 51, "half of it is lost")
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).error(51, ["half of it is lost"])


@case("STA-04", "SHOULD", "1.1.0")
def exhausted(node):
    """no addresses left: error 50"""
    need_ipam(node)
    delegate = Delegate(node)
    delegate.fail("STATUS", 50, "no addresses left")
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).error(50, ["no addresses left"])


@case("STA-05", "MUST", "1.1.0")
def agent_is_down(node):
    """agent down for longer than an ADD waits for it: error 50; a shorter absence is none"""
    need(node, "agents")
    impatient = node.conf(kuryr_conf=node.kuryr.write_conf(agent_wait=0))
    for conf in (None, impatient):
        node.status(conf).silent()
    node.agents.kill()
    node.status().silent()
    node.status(impatient).error(50)


@case("STA-06", "MUST", "1.1.0")
def switch_is_down(node):
    """Open vSwitch down or the bridge missing: 51 when there are attachments, else 50"""
    need(node, "ovs")
    made = node.added()
    node.status().silent()
    node.ovs.stop()
    node.status().error(51)
    node.ovs.start()
    made.delete().silent()
    node.status().silent()
    if not node.pods:
        node.ovs.vsctl("--if-exists", "del-br", node.ovs.bridge)
        node.status().error(50, [node.ovs.bridge])
        node.ovs.make_bridge()
    node.ovs.stop()
    node.status().error(50)


@case("STA-07", "MUST", "1.1.0")
def calls_after_an_error(node):
    """after a STATUS error, ADD and DEL still work"""
    if node.pods:
        node.ovs.stop()
        node.status().error()
        node.ovs.start()
        made = node.added()
    else:
        need_ipam(node)
        delegate = Delegate(node)
        delegate.fail("STATUS", 50)
        node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).error(50)
        made = delegate.attachment()
        made.add().result()
    expect(made.present(), "no interface")
    made.delete().silent()


@case("STA-08", "HARD", "1.1.0")
def as_often_as_asked(node):
    """asked every few seconds, it leaves no trace"""
    node.status().silent()
    before, switch = node.remains(), node.switch.picture()
    for _ in range(20):
        node.status().silent()
    node.expect_only(before, "after 21 STATUS")
    expect(node.switch.picture() == switch, "the switch changed")


@case("STA-09", "MUST", "1.1.0")
def error_is_on_stdout(node):
    """the error is JSON on stdout"""
    if node.ovs:
        node.ovs.stop()
        node.status().error((50, 51))
    else:
        need_ipam(node)
        node.status(node.conf(ipam={"type": "no-such-ipam"})).error()


@case("STA-10", "HARD", "1.1.0")
def api_server_is_down(node):
    """API server unreachable: error 50 that names it"""
    need(node, "pods")
    need_no_agents(node)
    node.status().silent()
    node.pods.api.stop()
    node.status().error(50, [node.pods.api.url.split("/")[2]])
