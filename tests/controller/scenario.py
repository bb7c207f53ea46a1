"""The cluster, its controllers, the storm, and what its history shows afterwards."""
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from controller import judgement
from controller.cluster import Cluster
from controller.controllers import BESIDE_OTHERS, Controllers
from controller.life import Client, Foreign, Ledger
from controller.original import Neighbours, Original
from controller.storm import Storm
from controller.twins import Twins
from harness.expectation import expect, expect_same, nothing, wait_for_none
from harness.kube_api import find_programs
from harness.pod import Plan
from harness.report import Skipped

CLIENTS = 16
QUIET_SECONDS = 60
USED_OF_ORIGINAL = 'kuryr_controller_addresses{network="original",family="ipv4",state="used"}'


class Scenario:
    def __init__(self, options):
        self.options = options
        self.ledger = Ledger()
        self.random = random.Random(options.seed)

    def state(self, facts):
        with facts.fact(f"{self.options.controllers} controllers at a cluster that another producer has used", basis=True):
            self.make_cluster()
        with facts.fact("one of them leads, and knows every free address"):
            self.free = self.wait_until_quiet()
        self.judge_adoption(facts)
        with facts.fact("the storm comes to its end, and every pod its way"):
            self.go_through_storm()
        self.judge(facts)

    def make_cluster(self):
        programs, why_not = find_programs()
        if not programs:
            raise Skipped(why_not)
        self.cluster = Cluster(programs)
        self.history = self.cluster.history
        self.foreign = Foreign(self.cluster, self.foreign_vif)
        self.original = Original(self.cluster)
        self.others = [*self.foreign.keys, *self.original.keys]
        self.last_of_foreign = self.history.changes[-1].revision
        self.controllers = Controllers(self.options.controllers, self.options.controller, self.cluster.api, self.options.sink,
                                       BESIDE_OTHERS)

    def foreign_vif(self, address):
        # Inactive: who takes it for ours would have something to write.
        plan = Plan(int(address.rsplit(".", 1)[1]), active=False)
        plan.address = address
        return plan.vif()

    def wait_until_quiet(self):
        deadline = time.monotonic() + QUIET_SECONDS
        while not (found := self.controllers.addresses()):
            expect(time.monotonic() < deadline, "no leader tells of addresses none of which rests")
            time.sleep(0.2)
        return found

    def wait_for_addresses(self, wanted):
        """The leader may hear of a pod's end later than the test."""
        wait_for_none(lambda: wanted.items() ^ self.wait_until_quiet().items(), "numbers of addresses")

    def used_of_original(self):
        return self.wait_until_quiet()[USED_OF_ORIGINAL]

    def judge_adoption(self, facts):
        with facts.fact("what kuryr-kubernetes planned keeps its addresses, and pods beside it get all the others; what cannot be "
                        "read is told"):
            expect_same({"used": len(self.original.taken)}, {"used": self.used_of_original()}, "addresses of the pool")
            neighbours = Neighbours(self.original)
            expect(neighbours.addresses() == neighbours.left, f"neighbours have {sorted(neighbours.addresses())}")
            told = {(self.original.unreadable.split("/")[1], "KuryrPlanUnusable"), (neighbours.waiting(), "KuryrNoFreeAddress")}
            wait_for_none(lambda: told - self.original.events(), "not told")
            nothing(self.original.events() - told, "told as well")
            neighbours.delete()

    def go_through_storm(self):
        self.permits = threading.Semaphore(0)
        self.given = 0
        restarts = max(1, self.options.kills // 8) if self.options.restarts is None else self.options.restarts
        storm = Storm(self.cluster, self.controllers, self.random, self.options.kills, restarts)
        seeds = [self.random.getrandbits(64) for _ in range(CLIENTS)]
        self.begin = time.monotonic()
        with ThreadPoolExecutor(CLIENTS) as clients:
            work = [clients.submit(self.live, number, seed) for number, seed in enumerate(seeds)]
            try:
                storm.run(self.permit, self.settle)
            finally:
                self.permits.release(self.options.pods + CLIENTS)
        failures = [str(each.exception()) for each in work if each.exception()]
        nothing(failures, "clients that gave up")
        print(f"        {self.ledger.done} pods in {time.monotonic() - self.begin:.0f} s; "
              f"{len(self.history.changes)} changes; {storm.counts}", flush=True)
        nothing(self.controllers.crashes, "controllers that crashed")

    def permit(self, share):
        """This share of all pods may begin; those that are left at the end."""
        count = min(round(share * self.options.pods), self.options.pods - self.given)
        self.given += count
        if count:
            self.permits.release(count)

    def settle(self):
        """Until as many pods have lived as there are clients, or all that may: a storm of nothing but strikes starves them."""
        goal = min(self.ledger.done + CLIENTS, self.given)
        self.ledger.wait_until_done(goal)

    def live(self, number, seed):
        client = Client(number, self.cluster, self.ledger, random.Random(seed))
        while True:
            self.permits.acquire()
            with self.ledger.lock:
                if self.ledger.begun >= self.options.pods:
                    return
                self.ledger.begun += 1
            client.live()

    def judge(self, facts):
        changes = [change for change in self.history.changes if change.key != self.original.unreadable]
        with facts.fact("no address was given to two living pods at any moment"):
            nothing(judgement.find_doubles(changes), "given twice")
        with facts.fact("no address stood on two pods' objects at any moment"):
            nothing(judgement.find_doubles(changes, needs_life=False), "written twice")
        with facts.fact("every pod was planned exactly once"):
            expect(len(self.ledger.planned) > self.options.pods // 2, "hardly any was planned")
            nothing(judgement.find_replanned(changes, self.ledger.planned), "planned otherwise")
        with facts.fact("os-vif decodes every plan"):
            ours = [change for change in changes if change.key not in self.others]
            nothing(judgement.find_undecodable(ours, self.ledger.planned), "not decoded")
        with facts.fact("a pod that had a plan had the finalizer"):
            nothing(judgement.find_unheld(changes, self.others), "not held")
        with facts.fact("nothing is left: no pod, no finalizer, no KuryrPort"):
            wait_for_none(lambda: judgement.find_left(self.history.present, self.others), "left")
        with facts.fact("no address is lost: all are free again"):
            self.wait_for_addresses(self.free)
        with facts.fact("what other producers wrote is unchanged, of every era of kuryr-kubernetes"):
            nothing(judgement.find_changed(self.history.changes, self.others, self.last_of_foreign), "changed")
        with facts.fact("a deleted pod of kuryr-kubernetes ends, and its address is free, when its KuryrPort's finalizer is taken away"):
            self.original.let_go("deleting")
            left = len(self.original.taken) - 1
            wait_for_none(lambda: {self.used_of_original()} - {left}, f"addresses of the pool, not {left}")
        self.judge_twins(facts)
        with facts.fact("the controllers end in order, and the Lease is nobody's"):
            self.controllers.stop()
            self.history.wait(lambda: self.history.leader() == "", "the Lease is released", 30)

    def judge_twins(self, facts):
        with facts.fact("of two pods with one address the younger gets another, and nobody the one that it may have while it lives"):
            before = self.wait_until_quiet()
            twins = Twins(self.cluster)
            twins.write_late()
            twins.wait_for_another()
            twins.tell_of_the_former()
            twins.delete(twins.older)
            # The younger one has or may have them.
            wait_for_none(lambda: {2} ^ {value - before[key] for key, value in self.wait_until_quiet().items() if value > before[key]},
                          "numbers of addresses")
            twins.delete(twins.younger)
            self.wait_for_addresses(before)
