"""Two tenants that mean ill, and two citizens that only want the addresses of their own pools. All are on one bridge."""
import random
from concurrent.futures import ThreadPoolExecutor

from controller import definitions, judgement
from controller.cluster import Cluster
from controller.citizens import Citizen
from controller.controllers import Controllers
from controller.holding import find_shared
from controller.manager import Manager, programs_with_manager
from controller.misgiven import all_of, find_misgiven
from controller.nodes import Nodes
from controller.plan import addresses_of
from controller.storm import Storm
from controller.tenant_attacks import Attacks
from controller.tenant_fuzz import Fuzz
from controller.tenants import Tenant
from harness.expectation import expect, nothing, wait_for_none

POOLS = """[controller]
backend = local
[pool:blue]
cidr = 10.20.0.0/24
ranges = 10.20.0.10-10.20.0.29
namespaces = blue
vif = bridge
bridge = br-shared
rest = 1
[pool:green]
cidr = 10.30.0.0/24
ranges = 10.30.0.10-10.30.0.29
namespaces = green
vif = bridge
bridge = br-shared
rest = 1
[pool:tenants]
cidr = 10.40.0.0/24
ranges = 10.40.0.10-10.40.0.254
namespaces = mallory, trudy
vif = bridge
bridge = br-shared
rest = 1
[pool:shared]
cidr = 10.50.0.0/26
pods = pool=shared
vif = bridge
bridge = br-shared
rest = 120
"""
RANGES = {"blue": all_of("10.20.0.10", "10.20.0.29"), "green": all_of("10.30.0.10", "10.30.0.29"),
          "mallory": all_of("10.40.0.10", "10.40.0.254"), "trudy": all_of("10.40.0.10", "10.40.0.254")}
SHARED = all_of("10.50.0.2", "10.50.0.62")
END_SECONDS = 120


class Tenancy:
    def __init__(self, options):
        self.options = options
        self.random = random.Random(options.seed)
        self.tenants = {tenant.name: tenant for tenant in (Tenant("mallory"), Tenant("trudy", has_more=True))}

    def state(self, facts):
        with facts.fact("two namespaces have all addresses of their pools, beside two whose users mean ill", basis=True):
            self.make_cluster()
            self.fill()
        self.state_rights(facts)
        Attacks(self).state(facts)
        self.state_of_fuzz(facts)
        self.judge(facts)

    def make_cluster(self):
        programs = programs_with_manager()
        self.cluster = Cluster(programs, "".join(tenant.line() for tenant in self.tenants.values()))
        self.history = self.cluster.history
        self.manager = Manager(programs, self.cluster.api)
        definitions.define(self.cluster)
        self.nodes = Nodes(self.cluster, self.options.sink, random.Random(self.options.seed), self.is_allowed)
        self.controllers = Controllers(self.options.controllers, self.options.controller, self.cluster.api, self.options.sink, POOLS)
        self.storm = Storm(self.cluster, self.controllers, self.random, 0, 0)
        self.citizens = [Citizen(name, self.cluster, RANGES[name]) for name in ("blue", "green")]
        for tenant in self.tenants.values():
            tenant.move_in(self.cluster)

    def is_allowed(self, name_space, plan):
        """Whether the addresses are the namespace's. A node would plug a forged plan; docs/controller.md says who may write plans.
        Pods of the shared pool are deleted before their nodes tell of them."""
        return addresses_of(plan) <= RANGES[name_space]

    def fill(self, without=()):
        """Fills both pools at a time."""
        with ThreadPoolExecutor() as clients:
            list(clients.map(lambda citizen: citizen.fill(without), self.citizens))

    def state_rights(self, facts):
        with facts.fact("ClusterRole edit is for pods and their annotations, neither for their status nor for KuryrPorts"):
            mallory, trudy = self.tenants.values()
            wait_for_none(lambda: [] if mallory.may("create", "", "pods") else ["no rules yet"], "in ClusterRole edit")
            expect(mallory.may("patch", "", "pods"), "it may not patch pods")
            granted = [each for each in (("patch", "", "pods", "status"), ("create", "", "pods", "binding"),
                                         ("create", "openstack.org", "kuryrports"), ("create", definitions.GROUP, definitions.CLAIMS))
                       if mallory.may(*each)]
            nothing(granted, "granted, too")
            expect(trudy.may("create", "openstack.org", "kuryrports"), "the other one may not create KuryrPorts")

    def state_of_fuzz(self, facts):
        with facts.fact(f"{self.options.requests} requests of theirs by chance, and meanwhile both namespaces have all their addresses"):
            fuzzes = [Fuzz(tenant, self.options.requests // 2, self.random.getrandbits(64), RANGES) for tenant in self.tenants.values()]
            with ThreadPoolExecutor() as clients:
                work = [clients.submit(fuzz.run) for fuzz in fuzzes]
                while not all(each.done() for each in work):
                    self.fill()
                for each in work:
                    each.result()
            print(f"        answers: {({name: dict(sorted(tenant.codes.items())) for name, tenant in self.tenants.items()})}", flush=True)
        with facts.fact("another leads, and they have all of them again"):
            self.storm.change_leader()
            self.fill()

    def judge(self, facts):
        changes, sink = self.history.changes, self.options.sink
        with facts.fact("no plan of theirs has an address of another pool, or a MAC that is none or another pod's on the bridge"):
            ranges = RANGES | {name: RANGES[name] | SHARED for name in self.tenants}
            nothing(find_misgiven(changes, sink, self.tenants, ranges), "misgiven")
        with facts.fact("no two pods of the others had one address at any moment"):
            nothing(find_shared([each for each in changes if each.key.split("/")[0] not in self.tenants], sink), "shared")
        with facts.fact("their namespaces are deleted: nothing is left"):
            for tenant in self.tenants.values():
                self.cluster.insist("DELETE", f"/api/v1/namespaces/{tenant.name}")
            wait_for_none(self.let_go, "left", END_SECONDS)
        with facts.fact("no controller ended by itself, and nodes could write all they had to tell"):
            self.controllers.look_for_crashes()
            nothing([*self.controllers.crashes, *self.nodes.failures], "failures")

    def let_go(self):
        """Takes the tenants' finalizers away; returns the objects that were left before."""
        left = judgement.find_left(self.history.present, ())
        for tenant in self.tenants.values():
            tenant.let_go(self.history)
        return left
