"""kuryr-controller as Neutron's producer: a pod's port is made once, becomes active, and goes with its pod."""
import signal
import uuid

from harness.expectation import expect, expect_same
from neutron.network import TAG
from ovn.central import HOST_NAME
from ovn.exchange import FAMILIES, KINDS
from ovn.node import MODES

DEAD_NODE = "node2"


def check(facts, planning):
    live(facts, planning)
    with facts.fact("killed between the port's POST and its writing, the next one writes that port, and makes no second"):
        outlive_a_kill(planning)
    with facts.fact("on a node that Neutron does not know no plan is written, and an Event names the host"):
        fail_to_bind(planning)
    with facts.fact("orphans lists the ports of pods that are gone, and --remove deletes them and no others"):
        find_orphans(planning)


def live(facts, planning, kind="planned", visit=None):
    """Facts of two pods, from their creation to the end of their ports. visit(their attachments) states more meanwhile."""
    made = come(facts, planning, kind)
    for family in FAMILIES:
        for form, send in KINDS.items():
            with facts.fact(f"{kind}: {form} between two pods, IPv{family}"):
                send(made[0], made[1], family)
    if visit:
        visit(made)
    go(facts, planning, kind, made)


def come(facts, planning, kind):
    all_made = []
    with facts.fact(f"{kind}: kuryr-controller plans pods with Neutron's ports, they are plugged, and ACTIVE, and so is the plan",
                    basis=True):
        for mode in MODES:
            made, port, result = planning.run_pod(f"{kind}-{mode.split()[-1]}".replace("_", "-"), mode)
            all_made.append(made)
            vif = planning.vifs_of(made.pod.name)["eth0"]
            expect_same([port["id"], "ACTIVE", True], [vif["id"], port["status"], vif["active"]], "port and plan")
            addresses = {ip["ip_address"] for ip in port["fixed_ips"]}
            expect_same(addresses, {ip["address"].split("/")[0] for ip in result["ips"]}, "addresses")
            expect(made.link()["mtu"] == planning.network.network["mtu"], "the MTU is not the network's")
    with facts.fact(f"{kind}: a port says whose it is"):
        for made in all_made:
            port, = planning.ports_of(made.pod.uid)
            expect_same(["compute:kuryr", f"default/{made.pod.name}/eth0", HOST_NAME, [TAG], [planning.network.open]],
                        [port["device_owner"], port["name"], port["binding:host_id"], port["tags"], port["security_groups"]], "port")
    return all_made


def go(facts, planning, kind, all_made):
    with facts.fact(f"{kind}: deleted pods are gone, and so are their ports"):
        for made in all_made:
            made.delete().silent()
            planning.delete(made.pod.name)
        for made in all_made:
            planning.wait_for(f"the end of {made.pod.name}", lambda name=made.pod.name: planning.is_gone(name))
            planning.wait_for("no port", lambda uid=made.pod.uid: not planning.ports_of(uid))


def outlive_a_kill(planning):
    uid, _, _ = planning.outlive_a_kill(planning.controller, "killed", planning.ports_of)
    planning.delete("killed")
    planning.wait_for("no port", lambda: not planning.ports_of(uid))


def fail_to_bind(planning):
    uid = planning.create("unbound", DEAD_NODE)
    message = planning.wait_for("its Event", lambda: planning.events_of("unbound").get("KuryrBackendUnavailable"))
    expect(f'to host "{DEAD_NODE}" (binding_failed)' in message, message)
    expect(not planning.vifs_of("unbound"), "a plan was written")
    planning.delete("unbound")
    planning.wait_for("no port", lambda: not planning.ports_of(uid))


def find_orphans(planning):
    kept, gone = planning.create("kept"), str(uuid.uuid4())
    planning.wait_for("its plan", lambda: planning.vifs_of("kept"))
    planning.controller.end(signal.SIGTERM)
    orphan = planning.neutron.create("port", network_id=planning.network.network["id"], device_owner="compute:kuryr",
                                     device_id=gone, name="default/gone/eth0")
    planning.neutron.request("PUT", f"ports/{orphan['id']}/tags", {"tags": [TAG]})
    # As earlier releases left them.
    leaked = planning.neutron.create("port", network_id=planning.network.network["id"], device_owner="compute:kuryr",
                                     name="kuryr-pool-port", **{"binding:host_id": HOST_NAME})
    said = planning.orphans()
    expect(f"what pod default/gone ({gone}) has in the backend: the pod is gone" in said and "2 left" in said, said)
    expect(f"port {leaked['id']} (kuryr-pool-port) at {HOST_NAME}: an earlier release made it for a pool" in said, said)
    said = planning.orphans("--remove", "--force")
    expect("2 removed, 0 left" in said, said)
    expect(not planning.ports_of(gone) and planning.ports_of(kept), "other ports than the orphan's are gone")
