"""STATUS: ready, or why not."""
from cni_conformance.case import case
from cni_conformance.delegate import Delegate
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
    node.need_ipam()
    delegate = Delegate(node)
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).silent()
    expect(delegate.commands() == ["STATUS"], f"the delegate got {delegate.commands()}")
    delegate.fail("STATUS", 51, "half of it is lost")
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).error(51, ["half of it is lost"])


@case("STA-04", "SHOULD", "1.1.0")
def exhausted(node):
    """no addresses left: error 50"""
    node.need_ipam()
    delegate = Delegate(node)
    delegate.fail("STATUS", 50, "no addresses left")
    node.status(delegate.conf(), CNI_PATH=delegate.cni_path()).error(50, ["no addresses left"])


@case("STA-05", "MUST", "1.1.0")
def agent_is_down(node):
    """agent down: error 50"""
    node.need_agent()
    node.status().silent()
    node.kill_agents()
    node.status().error(50)


@case("STA-06", "MUST", "1.1.0")
def switch_is_down(node):
    """Open vSwitch down or the bridge missing: 51 when there are attachments, else 50"""
    node.need_profile("api", "ovs")
    made = node.added()
    node.status().silent()
    node.ovs.stop_vswitchd()
    node.ovs.stop_ovsdb()
    node.status().error(51)
    node.ovs.start_ovsdb()
    node.ovs.start_vswitchd()
    made.delete().silent()
    node.status().silent()
    if node.profile == "ovs":
        node.ovs.vsctl("--if-exists", "del-br", node.ovs.bridge)
        node.status().error(50, [node.ovs.bridge])
        node.ovs.make_bridge()
    node.ovs.stop_vswitchd()
    node.ovs.stop_ovsdb()
    node.status().error(50)


@case("STA-07", "MUST", "1.1.0")
def calls_after_an_error(node):
    """after a STATUS error, ADD and DEL still work"""
    if node.profile == "api":
        node.ovs.stop_vswitchd()
        node.ovs.stop_ovsdb()
        node.status().error()
        node.ovs.start_ovsdb()
        node.ovs.start_vswitchd()
        made = node.added()
    else:
        node.need_ipam()
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
    before, switch = node.remains(), node.switch_picture()
    for _ in range(20):
        node.status().silent()
    node.expect_only(before, "after 21 STATUS")
    expect(node.switch_picture() == switch, "the switch changed")


@case("STA-09", "MUST", "1.1.0")
def error_is_on_stdout(node):
    """the error is JSON on stdout"""
    if node.profile in ("api", "ovs"):
        node.ovs.stop_vswitchd()
        node.ovs.stop_ovsdb()
        node.status().error((50, 51))
    else:
        node.need_ipam()
        node.status(node.conf(ipam={"type": "no-such-ipam"})).error()


@case("STA-10", "HARD", "1.1.0")
def api_server_is_down(node):
    """API server unreachable: error 50 that names it"""
    node.need_profile("api")
    node.need_no_agent()
    node.status().silent()
    node.stop_api()
    node.status().error(50, [node.api_host()])
