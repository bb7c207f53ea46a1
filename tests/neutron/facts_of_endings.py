"""A pod's port of Neutron is the pod's until it has ended: its namespace is deleted before, or its KuryrPort is lost."""
import signal

from harness.expectation import expect, expect_same
from ovn import exchange

ENDING = "ending"
GRACE_SECONDS = 600
NO_FINALIZERS = {"metadata": {"finalizers": []}}


def check(facts, planning):
    """kuryr-controller of `planning` has ended before, and after."""
    planning.controller.start()
    end_namespace(facts, planning)
    lose_plan(facts, planning)
    planning.controller.end(signal.SIGTERM)


def port_path(namespace, name):
    """Of a KuryrPort."""
    return f"/apis/openstack.org/v1/namespaces/{namespace}/kuryrports/{name}"


def change_leader(planning):
    planning.controller.end(signal.SIGKILL)
    planning.controller.start()
    planning.wait_for("it leads", planning.controller.leads)
    # Its first round of all pods is over when a later pod has its plan.
    uid = planning.create("later")
    planning.wait_for("the plan of a later pod", lambda: planning.vifs_of("later"))
    planning.delete("later")
    planning.wait_for("no port", lambda: not planning.ports_of(uid))


def expect_kept(planning, made, port):
    """The port is the pod's as before."""
    kept, = planning.ports_of(made.pod.uid)
    expect_same([port[key] for key in ("id", "mac_address", "fixed_ips", "binding:host_id", "status")],
                [kept[key] for key in ("id", "mac_address", "fixed_ips", "binding:host_id", "status")], "port")


def end_namespace(facts, planning):
    api = planning.api
    with facts.fact("endings: a namespace is deleted with its KuryrPorts while a pod still ends: the port stays the pod's, whoever leads"):
        api.request("POST", "/api/v1/namespaces", {"metadata": {"name": ENDING}})
        other = planning.run_pod("stays")[0]
        made, port, _ = planning.run_pod("ends", namespace=ENDING)
        # The namespace controller does so, which is not here.
        api.request("DELETE", f"/api/v1/namespaces/{ENDING}")
        api.request("DELETE", f"{planning.path('pods', ENDING)}/ends?gracePeriodSeconds={GRACE_SECONDS}")
        api.request("DELETE", port_path(ENDING, "ends"))
        change_leader(planning)
        expect_kept(planning, made, port)
        for family in exchange.FAMILIES:
            exchange.ping(other, made, family)
    with facts.fact("endings: once that pod has ended, its port and its KuryrPort are gone"):
        made.delete().silent()
        planning.delete("ends", ENDING)
        planning.wait_for("no port", lambda: not planning.ports_of(made.pod.uid))
        planning.wait_for("no pod", lambda: planning.is_gone("ends", ENDING))
        planning.wait_for("no KuryrPort", lambda: not planning.vifs_of("ends", ENDING))
    other.delete().silent()
    planning.delete("stays")
    planning.wait_for("no port", lambda: not planning.ports_of(other.pod.uid))


def lose_plan(facts, planning):
    with facts.fact("endings: a pod that runs and lost its KuryrPort while nobody led gets a plan with the same port"):
        made, port, _ = planning.run_pod("loses")
        planning.controller.end(signal.SIGKILL)
        planning.api.patch(port_path("default", "loses"), NO_FINALIZERS)
        planning.api.request("DELETE", port_path("default", "loses"))
        expect(not planning.vifs_of("loses"), "the KuryrPort is there")
        planning.controller.start()
        vif = planning.wait_for("its plan", lambda: planning.vifs_of("loses"))["eth0"]
        expect_same([port["id"], port["mac_address"]], [vif["id"], vif["address"]], "planned port")
        expect_kept(planning, made, port)
        made.delete().silent()
        planning.delete("loses")
        planning.wait_for("no port", lambda: not planning.ports_of(made.pod.uid))
