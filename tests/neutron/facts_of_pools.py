"""Pools of ready ports: a pod takes one, gives it back, and whoever is killed meanwhile, no port is lost or has two pods."""
import functools
import os
import random
import signal

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from neutron.planning import TAG
from ovn.central import HOST_NAME
from ovn.exchange import FAMILIES, KINDS

READY = "kuryr-pool-port"
LEAST, MOST, BATCH = 2, 6, 4
NAMES = ("pooled-a", "pooled-b")
# That stay.
FIRST_NAMES = ("pool-first", "pool-killed")
OPTIONS = f"""[kubernetes]
vif_pool_driver = neutron
[vif_pool]
ports_pool_min = {LEAST}
ports_pool_max = {MOST}
ports_pool_batch = {BATCH}
ports_pool_update_frequency = 1
"""
# None by default: it takes half a minute, and two more where a port comes late.
STORM_PODS = int(os.environ.get("KURYR_POOL_PODS", "0"))
KILLS_OF_CONTROLLER, KILLS_OF_OTHERS = STORM_PODS // 10, max(STORM_PODS // 50, 1)
# A request of a kuryr-controller that was killed may be carried out late; it is looked for until then.
LATE_SECONDS = 150


class Pools:
    def __init__(self, planning):
        self.planning, self.neutron = planning, planning.neutron
        self.former = set()
        self.former = {port["id"] for port in self.all_but_ready()}
        self.controller = Controller(2, planning.controller.program, planning.api, "kuryrport", planning.backend() + OPTIONS)

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


def check(facts, planning, seed):
    with facts.fact("pools: the first pod of a node makes its own port, and its pool is filled behind it", basis=True):
        pools = Pools(planning)
        planning.create("pool-first")
        planning.wait_for("its plan", lambda: planning.vifs_of("pool-first"))
        ready = pools.wait_for_ready(BATCH)
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
    if STORM_PODS:
        with facts.fact(f"pools: {STORM_PODS} pods come and go, kuryr-controller, neutron-server and OVN's parts killed meanwhile: "
                        f"Neutron has the ports of pods and pools, and no others (seed {seed})"):
            Storm(planning, pools, random.Random(seed)).rage()
    pools.controller.end(signal.SIGTERM)


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


def is_storms(pod):
    return pod["metadata"]["name"].startswith("storm-")


class Storm:
    """Pods that are created and deleted by chance, and the kills between them."""

    def __init__(self, planning, pools, chance):
        self.planning, self.pools, self.chance = planning, pools, chance
        self.uids = {}
        self.promised = set()  # the uids of pods that had a finalizer: their ports go with them

    def rage(self):
        acts = [self.come] * STORM_PODS + [self.go] * (STORM_PODS // 2) + [self.kill_controller] * KILLS_OF_CONTROLLER
        acts += [*self.kills_of_ovn(), self.pools.neutron.kill] * KILLS_OF_OTHERS
        self.chance.shuffle(acts)
        for act in acts:
            act()
        for name, uid in self.uids.items():
            self.expect_one_port(name, uid)
        for name in list(self.uids):
            self.delete(name)
        self.wait_for("no port of a pod that had a plan", lambda: not self.promised & set(self.strays()))
        # What a fill made whose maker was killed is found by a list; the first is that of the first pod.
        self.kill_controller()
        self.come()
        self.wait_for(f"at most {MOST} ready ports, with tags", self.are_ready_few)
        self.planning.orphans("--remove", "--force")
        expect_same([], self.strays(), "pods that are gone, and have ports")
        self.go()
        self.wait_for("the end of its pods", lambda: not [pod for pod in self.planning.pods() if is_storms(pod)])
        # Also of a pod that had no finalizer yet: its kuryr-controller lives.
        self.wait_for("ports of the pods that stay alone", lambda: sorted(
            port["device_id"] for port in self.pools.all_but_ready()) == self.staying())

    def wait_for(self, what, find):
        return self.planning.wait_for(what, find, LATE_SECONDS)

    def come(self):
        name = f"storm-{self.planning.node.number()}"
        self.uids[name] = self.planning.create(name)

    def go(self):
        if self.uids:
            self.delete(self.chance.choice(sorted(self.uids)))

    def delete(self, name):
        if any(pod["metadata"].get("finalizers") for pod in self.planning.pods() if pod["metadata"]["name"] == name):
            self.promised.add(self.uids[name])
        self.planning.delete(name)
        del self.uids[name]

    def kill_controller(self):
        self.pools.controller.end(signal.SIGKILL)
        self.pools.controller.start()

    def kills_of_ovn(self):
        ovn = self.planning.node.ovn

        def kill(part):
            ovn.kill(part)
            ovn.start(part)
        return [functools.partial(kill, part) for part in ovn.commands]

    def expect_one_port(self, name, uid):
        planned = self.wait_for(f"the plan of {name}", lambda: self.planning.vifs_of(name))["eth0"]["id"]
        self.wait_for(f"{name} has its port alone", lambda: [port["id"] for port in self.planning.ports_of(uid)] == [planned])

    def staying(self):
        return sorted(pod["metadata"]["uid"] for pod in self.planning.pods() if pod["metadata"]["name"] in FIRST_NAMES)

    def are_ready_few(self):
        ready = self.pools.ready().values()
        return len(ready) <= MOST and all(port["tags"] == [TAG] for port in ready)

    def strays(self):
        """The uids of pods that are gone, and have ports."""
        living = {pod["metadata"]["uid"] for pod in self.planning.pods()}
        return [port["device_id"] for port in self.pools.all_but_ready() if port["device_id"] not in living]
