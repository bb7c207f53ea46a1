"""Pods that run, and lose what says with which addresses: with their KuryrPorts, or an annotation. Others wait for an address."""
from concurrent.futures import ThreadPoolExecutor

from controller import forgery, judgement
from controller.cluster import PATHS
from controller.history import PORTS
from controller.holding import find_shared
from controller.plan import FINALIZER, addresses_of
from controller.quota import allow_ports, forbid_ports
from harness.expectation import nothing, wait_for_none
from harness.kube_api import MERGE_PATCH
from harness.pod import ANNOTATION
from harness.process import REPOSITORY

CLIENTS = 16
LATE = 20  # pods that come when no address is left
LATECOMERS, LAST = "latecomers", "last"
DEFINITION = f"{PATHS['CustomResourceDefinition']}/kuryrports.openstack.org"


class LostPlans:
    def __init__(self, endings):
        self.endings, self.cluster, self.history = endings, endings.cluster, endings.history
        self.controllers, self.seconds = endings.controllers, endings.wait_seconds
        self.sink = endings.options.sink

    def state(self, facts):
        self.pods = self.endings.new
        self.namespace = self.pods[0].namespace
        self.ports = f"/apis/openstack.org/v1/namespaces/{self.namespace}/kuryrports"
        self.has = {made.uid: self.endings.told(made) for made in self.pods}
        with facts.fact("pods that come when no address is left wait"):
            self.late = self.endings.create_pods([LATECOMERS], LATE)
            self.wait_until_told_or_planned()
            nothing(filter(self.planned, self.late), "planned")
        with facts.fact("plans of pods that run are taken away, and may not be written again: who waits gets none of their addresses"):
            self.keep_away()
        with facts.fact("plans are taken away while no controller runs: each pod gets one with the addresses that it has"):
            self.take_away_unseen()
        if self.sink == "kuryrport":
            with facts.fact("the definition of KuryrPorts is taken away and applied anew: each pod gets a plan with the addresses it has"):
                self.define_anew()
        with facts.fact("a backup gives a pod's address to one that waits: the one that runs keeps it, or an Event tells of it"):
            self.restore()
        with facts.fact("all is deleted: nothing is left, and every address is free"):
            self.endings.delete_namespaces({self.namespace, LATECOMERS, LAST})
            wait_for_none(lambda: judgement.find_left(self.history.present, ()), "left", self.seconds)
            wait_for_none(self.used, "used", self.seconds)

    def used(self):
        known = self.controllers.addresses() or {"none leads, or some rest": 1}
        return [name for name, value in known.items() if value and 'state="free"' not in name]

    # ---- by name
    def keep_away(self):
        since = self.history.changes[-1].revision
        if self.sink == "kuryrport":
            forbid_ports(self.cluster, self.namespace)
        self.take_away()
        self.endings.storm.change_leader()
        self.late += self.endings.create_pods([LAST], 1)
        self.wait_until_told_or_planned()
        nothing(find_shared(self.history.changes, self.sink, since), "given away")

    def take_away_unseen(self):
        since = self.history.changes[-1].revision
        self.controllers.stop()
        if self.sink == "kuryrport":
            allow_ports(self.cluster, self.namespace)
        self.take_away()
        self.let_ports_go()
        self.start_controllers()
        self.wait_for_the_same(since)

    def define_anew(self):
        """All KuryrPorts go with it."""
        since = self.history.changes[-1].revision
        self.cluster.insist("DELETE", DEFINITION)
        self.let_ports_go()
        wait_for_none(lambda: self.cluster.insist_gently((404,), "GET", DEFINITION) or (), "of the definition left", self.seconds)
        self.cluster.apply((REPOSITORY / "etc/kubernetes/base/kuryrport/kuryrport.yaml").read_text())
        self.wait_for_the_same(since)

    def restore(self):
        """While no controller runs: plans as they were before the pods of now."""
        runs, waits = self.pods[0], self.late[0]
        (address,) = self.has[runs.uid]
        self.controllers.stop()
        self.take_away()
        self.let_ports_go()
        vifs = forgery.own_vifs(waits.uid, "pods", [address], forgery.mac_of(address))
        if self.sink == "kuryrport":
            port = forgery.port(self.history.pod(waits.key, waits.uid), vifs)
            self.cluster.insist("POST", self.ports.replace(self.namespace, LATECOMERS), port)
        else:
            self.cluster.insist("PATCH", waits.path, {"metadata": {"annotations": forgery.annotation(vifs)}}, kind=MERGE_PATCH)
        self.start_controllers()

        def unsettled():
            keeps = self.planned(runs) == self.has[runs.uid] and address not in self.planned(waits)
            return [] if keeps or self.events("KuryrAddressConflict") & {runs.uid, waits.uid} else [f"{address} of both"]

        wait_for_none(unsettled, "not told of", self.seconds)
        rest = [made for made in self.pods if made is not runs]
        self.history.wait(lambda: all(map(self.has_plan, rest)), "each of the others has a plan again", self.seconds)
        nothing([made.key for made in rest if self.has_another(made)], "with other addresses")

    # ---- parts of them
    def take_away(self):
        """As `kubectl delete kuryrports --all` does, or `kubectl annotate`."""
        if self.sink == "kuryrport":
            self.cluster.insist("DELETE", self.ports)
            return
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(lambda made: self.cluster.insist("PATCH", made.path, {"metadata": {"annotations": {ANNOTATION: None}}},
                                                              kind=MERGE_PATCH), self.pods))

    def let_ports_go(self):
        """Somebody does not wait for those whose finalizers hold KuryrPorts."""
        def of_ours():
            return [key for key in list(self.history.present[PORTS]) if key.split("/")[0] == self.namespace]

        for key in of_ours():
            self.cluster.insist_gently((404,), "PATCH", f"{self.ports}/{key.split('/')[1]}", {"metadata": {"finalizers": None}},
                                       kind=MERGE_PATCH)
        self.history.wait(lambda: not of_ours(), "no KuryrPort is left", self.seconds)

    def start_controllers(self):
        for controller in self.controllers.all:
            controller.start()

    def wait_for_the_same(self, since):
        self.history.wait(lambda: all(map(self.has_plan, self.pods)) or any(map(self.planned, self.late)), "each has a plan again",
                          self.seconds)
        nothing(find_shared(self.history.changes, self.sink, since), "given away")
        nothing([made.key for made in self.pods if self.has_another(made)], "with other addresses")

    def planned(self, made):
        plan = self.history.plan(made.key, made.uid)
        return addresses_of(plan) if plan else set()

    def has_another(self, made):
        return self.planned(made) - self.has[made.uid]

    def has_plan(self, made):
        pod = self.history.pod(made.key, made.uid)
        return pod and FINALIZER in pod["metadata"].get("finalizers", []) and self.planned(made)

    def wait_until_told_or_planned(self):
        """There is no address for them: whoever leads says so, unless it gives one."""
        def waiting():
            told = self.events("KuryrNoFreeAddress")
            return [made.key for made in self.late if made.uid not in told and not self.planned(made)]

        wait_for_none(waiting, "neither planned nor told why not", self.seconds)

    def events(self, reason):
        """The UIDs of the pods that it is told of."""
        events = self.cluster.insist("GET", f"/api/v1/events?fieldSelector=reason%3D{reason}")["items"]
        return {event["involvedObject"]["uid"] for event in events}
