"""Pods come and go at random, their kuryr-controller has pools, and all that it works with is killed meanwhile."""
import functools
import random
import signal

from neutron.facts_of_pools import MOST
from neutron.network import TAG

NAME = "storm-"
# A request of a kuryr-controller that was killed may be carried out late; it is looked for until then.
LATE_SECONDS = 400


def check(facts, planning, pools, count, seed=None):
    seed = random.SystemRandom().randrange(2**32) if seed is None else seed
    print(f"storm: seed {seed}", flush=True)
    with facts.fact(f"storm: {count} pods come and go, kuryr-controller, neutron-server, Keystone and OVN's parts killed meanwhile: "
                    "Neutron has the ports of pods and pools, and no others"):
        Storm(planning, pools, random.Random(seed)).rage(count)


class Storm:
    """Pods that are created and deleted by chance, and the kills between them."""

    def __init__(self, planning, pools, chance):
        self.planning, self.pools, self.chance = planning, pools, chance
        self.staying = self.owners()
        self.uids = {}

    def rage(self, count):
        acts = [self.come] * count + [self.go] * (count // 2) + [self.kill_controller] * (count // 2)
        acts += [*self.kills_of_ovn(), self.pools.neutron.kill, self.pools.neutron.identity.kill] * max(count // 50, 1)
        self.chance.shuffle(acts)
        for act in acts:
            act()
        for name, uid in self.uids.items():
            self.expect_one_port(name, uid)
        for name in list(self.uids):
            self.delete(name)
        self.wait_for("no port of a pod that is gone", lambda: not self.strays())
        # A list finds the ports of a fill whose maker was killed; the first list is the first pod's.
        self.kill_controller()
        self.come()
        self.wait_for(f"at most {MOST} ready ports, with tags", self.are_ready_few)
        self.go()
        self.wait_for("the end of its pods", lambda: not [
            pod for pod in self.planning.pods() if pod["metadata"]["name"].startswith(NAME)])
        self.wait_for("ports of the pods that stay alone", lambda: self.owners() == self.staying)

    def wait_for(self, what, find):
        return self.planning.wait_for(what, find, LATE_SECONDS)

    def come(self):
        name = f"{NAME}{self.planning.node.number()}"
        self.uids[name] = self.planning.create(name)

    def go(self):
        if self.uids:
            self.delete(self.chance.choice(sorted(self.uids)))

    def delete(self, name):
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

    def owners(self):
        """The UIDs of the ports' owners."""
        return sorted(port["device_id"] for port in self.pools.all_but_ready())

    def are_ready_few(self):
        ready = self.pools.ready().values()
        return len(ready) <= MOST and all(port["tags"] == [TAG] for port in ready)

    def strays(self):
        """The uids of pods that are gone, and have ports."""
        living = {pod["metadata"]["uid"] for pod in self.planning.pods()}
        return [uid for uid in self.owners() if uid not in living]
