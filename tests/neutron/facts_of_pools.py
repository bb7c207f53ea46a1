"""Pools of ready ports: a pod takes one, gives it back, and whoever is killed meanwhile, no port is lost or has two pods."""
import signal

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from neutron.network import TAG
from ovn.central import HOST_NAME
from ovn.exchange import FAMILIES, KINDS

READY = "kuryr-pool-port"
LEAST, MOST, BATCH = 2, 6, 4
NAMES = ("pooled-a", "pooled-b")
ORPHAN_SECONDS = 5
SLAAC_CIDR = "fd00:21::/64"
OPTIONS = f"""orphan_interval = {ORPHAN_SECONDS}
[kubernetes]
vif_pool_driver = neutron
[vif_pool]
ports_pool_min = {LEAST}
ports_pool_max = {MOST}
ports_pool_batch = {BATCH}
ports_pool_update_frequency = 1
"""


class Pools:
    def __init__(self, planning):
        self.planning, self.neutron = planning, planning.neutron
        self.former = set()
        self.former = {port["id"] for port in self.all_but_ready()}
        self.controller = Controller(2, planning.controller.program, planning.api, "kuryrport", planning.network.backend() + OPTIONS)

    def ready(self):
        """{id: port}"""
        return {port["id"]: port for port in self.neutron.get(f"ports?name={READY}")["ports"]}

    def wait_for_ready(self, count):
        """Neutron lists ports that it has not bound yet; kuryr-controller counts those that it has."""
        self.planning.wait_for(f"{count} ready ports", lambda: sum(
            value for name, value in self.controller.metrics().items() if "_pool_ports{" in name) >= count)
        return self.ready()

    def all_but_ready(self):
        """Kuryr's in the pods' network, whatever their tags, which are set after their making; without those of before."""
        found = self.neutron.get(f"ports?device_owner=compute:kuryr&network_id={self.planning.network.network['id']}")["ports"]
        return [port for port in found if port["name"] != READY and port["id"] not in self.former]


def check(facts, planning):
    """The pools, whose kuryr-controller lives."""
    pools, ready = begin(facts, planning)
    with facts.fact("pools: ready ports are bound to the node, have the pods' groups, and nobody's name"):
        for port in ready.values():
            expect_same(["compute:kuryr", "", HOST_NAME, "ovs", [TAG], [planning.network.open], 2],
                        [port["device_owner"], port["device_id"], port["binding:host_id"], port["binding:vif_type"], port["tags"],
                         port["security_groups"], len(port["fixed_ips"])], "ready port")
    made = come(facts, planning, pools, ready)
    for family in FAMILIES:
        for kind, send in KINDS.items():
            with facts.fact(f"pools: {kind} between two pods on ready ports, IPv{family}"):
                send(made[0], made[1], family)
    go(facts, planning, pools, made)
    with facts.fact("pools: killed between the port's PUT and its writing, the next one writes that port, and takes no second"):
        outlive_a_kill(planning, pools)
    with facts.fact("pools: killed between a deleted pod's finalizer and its port, the next one makes the port ready again"):
        inherit_an_orphan(planning, pools)
    with facts.fact("pools: Neutron adds addresses of a SLAAC subnet that comes later, and the ports stay ready, also for the next one"):
        stay_ready_with_slaac(planning, pools)
    return pools


def begin(facts, planning):
    """The pools, and their first ports."""
    with facts.fact("pools: the first pod of a node makes its own port, and its pool is filled behind it", basis=True):
        pools = Pools(planning)
        planning.create("pool-first")
        planning.wait_for("its plan", lambda: planning.vifs_of("pool-first"))
        return pools, pools.wait_for_ready(BATCH)


def come(facts, planning, pools, ready):
    with facts.fact("pools: pods take ready ports, are plugged, and the ports become ACTIVE for them", basis=True):
        all_made = []
        for name in NAMES:
            made, port, _ = planning.run_pod(name)
            all_made.append(made)
            expect(port["id"] in ready, f"{name} has another port: {port}")
            expect_same([f"default/{name}/eth0", "ACTIVE", True],
                        [port["name"], port["status"], planning.vifs_of(name)["eth0"]["active"]], "port and plan")
        # Two were left, which are enough.
        expect_same(BATCH - len(NAMES), len(pools.ready()), "ready ports")
    return all_made


def go(facts, planning, pools, all_made):
    with facts.fact("pools: a deleted pod's port is ready again, and keeps its MAC"):
        for made in all_made:
            made.delete().silent()
            planning.delete(made.pod.name)
        for made in all_made:
            port = planning.wait_for("its port among the ready", lambda identity=made.pod.plan.id: pools.ready().get(identity))
            expect_same(["", made.pod.plan.mac], [port["device_id"], port["mac_address"]], "port")


def outlive_a_kill(planning, pools):
    before = pools.ready()
    _, port, _ = planning.outlive_a_kill(pools.controller, "pool-killed", planning.ports_of)
    expect(port["id"] in before, "the port was none of the ready")


def inherit_an_orphan(planning, pools):
    uid = planning.create("pool-orphan")
    port = planning.wait_for("its plan", lambda: planning.vifs_of("pool-orphan"))["eth0"]["id"]
    kept = pools.all_but_ready()
    pools.controller.end(signal.SIGKILL)
    planning.api.patch(f"{planning.path('pods')}/pool-orphan", {"metadata": {"finalizers": None}})
    planning.delete("pool-orphan")
    planning.wait_for("the pod's end", lambda: planning.is_gone("pool-orphan"))
    pools.controller.start()
    planning.wait_for("the pod has no port", lambda: not planning.ports_of(uid))
    expect(port in pools.ready(), "the port is not ready")
    expect_same({each["id"] for each in kept} - {port}, {each["id"] for each in pools.all_but_ready()}, "ports of other pods")
    expect_same(1, pools.controller.metrics()["kuryr_controller_neutron_orphans_released_total"], "released pods")


def stay_ready_with_slaac(planning, pools):
    ready, network = set(pools.ready()), planning.network.network["id"]
    subnet = planning.neutron.create("subnet", network_id=network, ip_version=6, cidr=SLAAC_CIDR, ipv6_address_mode="slaac",
                                     ipv6_ra_mode="slaac")["id"]
    planning.wait_for("an address that nobody asked for", lambda: all(len(port["fixed_ips"]) == 3 for port in pools.ready().values()))
    pools.controller.end(signal.SIGKILL)
    pools.controller.start()
    pools.wait_for_ready(len(ready))
    uid = planning.create("pool-slaac")
    made = planning.attach("pool-slaac", uid)
    expect_same(2, len(made.add().result()["ips"]), "addresses of a pod")
    (port,) = planning.ports_of(uid)
    expect(port["id"] in ready, "the port was none of the ready")
    made.delete().silent()
    planning.delete("pool-slaac")
    planning.wait_for("its port among the ready", lambda: port["id"] in pools.ready())
    expect_same(ready, set(pools.ready()), "ready ports")
    planning.neutron.delete("subnet", subnet)
