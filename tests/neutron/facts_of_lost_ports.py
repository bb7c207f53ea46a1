"""Ports that somebody deletes in Neutron: a pod that does not run yet gets another one, and one that runs is told of."""
import signal

from harness.expectation import expect, expect_same
from harness.namespaces import WORK
from harness.process import run
from ovn.central import CONTROLLER
from ovn.node import AGENT

LOST = "KuryrPortLost"


def check(facts, planning, controller):
    with facts.fact("lost ports: one that is deleted while its ADD waits is made anew, and the new one is plugged in its place"):
        replace(planning)
    with facts.fact("lost ports: a pod that runs has an Event of the port that was deleted while nobody led; status lists it", basis=True):
        made, port = tell(planning, controller)
    with facts.fact("lost ports: the pod that is made anew has another port"):
        made.delete().silent()
        planning.delete(made.pod.name)
        planning.wait_for("its end", lambda: planning.is_gone(made.pod.name))
        made, other, _ = planning.run_pod(made.pod.name)
        expect(other["id"] != port["id"], "it has the lost port")
        made.delete().silent()
        planning.delete(made.pod.name)
        planning.wait_for("no port", lambda: not planning.ports_of(made.pod.uid))


def replace(planning):
    """The first port never becomes ACTIVE."""
    node = planning.node
    node.ovn.kill(CONTROLLER)
    try:
        made = planning.attach("replaced", planning.create("replaced"), AGENT)
        call = made.start("ADD")
        lost = planning.wait_for("its plan", lambda: planning.vifs_of("replaced"))["eth0"]["id"]
        planning.take_plan(made)
        node.ovs.wait_for_port(made.pod.plan.tap)
        planning.neutron.delete("port", lost)
        planning.wait_for("another port", lambda: planning.vifs_of("replaced")["eth0"]["id"] != lost)
    finally:
        node.ovn.start(CONTROLLER)
    result = node.finish_call(call, "ADD").result()
    former, port = made.pod.plan.tap, planning.take_plan(made)
    expect_same(["ACTIVE", port["mac_address"]], [port["status"], made.link()["address"]], "port, and the pod's MAC")
    expect_same({ip["ip_address"] for ip in port["fixed_ips"]}, {ip["address"].split("/")[0] for ip in result["ips"]}, "addresses")
    expect_same([False, True], [tap in node.ovs.ports() for tap in (former, made.pod.plan.tap)], "taps of the lost port and of the new one")
    made.delete().silent()
    planning.delete("replaced")
    planning.wait_for("no port", lambda: not planning.ports_of(made.pod.uid))


def tell(planning, controller):
    made, port, _ = planning.run_pod("lost")
    controller.end(signal.SIGKILL)
    planning.neutron.delete("port", port["id"])
    controller.start()
    message = planning.wait_for("its Event", lambda: planning.events_of("lost").get(LOST))
    expect(f"eth0's port {port['id']}" in message, message)
    expect_same(port["id"], planning.vifs_of("lost")["eth0"]["id"], "the port of its plan")
    config = WORK / "administrator.conf"
    config.write_text(controller.config.read_text().replace("controller-token", "token"))
    said = run(controller.program, "status", "--config-file", config, check=False)
    line = next((each for each in said.splitlines() if each.startswith("default/lost ")), said)
    expect("planned,lost" in line and LOST in line, said)
    return made, port
