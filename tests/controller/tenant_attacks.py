"""Known attacks of a user with the rights of one namespace."""
from concurrent.futures import ThreadPoolExecutor

from controller import definitions, forgery
from controller.history import PODS, PORTS
from controller.nodes import SUCCEEDS
from controller.plan import addresses_of, try_plan
from controller.tenants import HOLD
from harness.expectation import expect, expect_same, nothing, wait_for_none

CLIENTS = 16
MAC, ADDRESSES, CLAIM = "kuryr.openstack.org/mac-address", "kuryr.openstack.org/ip-addresses", "k8s.ovn.org/primary-udn-ipamclaim"
REFUSALS = ("KuryrPlanRefused", "KuryrNoFreeAddress")
WAIT_SECONDS = 60
# The pool that both tenants' pods may choose.
SHARED_LABEL, SHARED_SIZE = {"pool": "shared"}, 61
# All that a /24 has, the gateway too.
WHOLE_BLUE = [f"10.20.0.{number}" for number in range(1, 255)]


class Attacks:
    def __init__(self, tenancy):
        self.tenancy, self.cluster, self.history = tenancy, tenancy.cluster, tenancy.history
        self.mallory, self.trudy = tenancy.tenants.values()
        self.blue = tenancy.citizens[0]

    def state(self, facts):
        with facts.fact("a plan on a pod's annotation, with the ids that kuryr-controller would choose, becomes nobody's KuryrPort"):
            self.forge_own()
        with facts.fact("254 addresses of a pool that is not theirs, on pods with and without a node, exhaust nothing"):
            self.forge_many()
        with facts.fact("nor do they on a pod that has succeeded and on one that its user holds; an IPAMClaim keeps its address"):
            self.forge_when_done()
        with facts.fact("the MAC of another pod on the bridge is refused, and so is one of a group"):
            self.wish_for_macs()
        with facts.fact("nor is a plan made active that has such a MAC, and was written to a KuryrPort"):
            self.forge_macs()
        with facts.fact("KuryrPorts that name a pod of another namespace come and go, and that pod loses nothing"):
            self.name_another()
        with facts.fact(f"{self.tenancy.options.refused} refused pods keep nobody waiting"):
            self.be_refused_often()
        with facts.fact(f"{SHARED_SIZE} pods take all addresses of a /26 and are deleted by force: another's pod gets one long before "
                        "their rest is over"):
            self.let_all_rest()

    def create(self, name, vifs_of=None, **options):
        """A pod that has what `vifs_of(uid)` gives on its annotation before it has a node."""
        pod = self.mallory.create_pod(name, schedulerName="hers", **options)
        expect(pod, f"{name} was not created")
        made = self.mallory.made(pod)
        if vifs_of:
            expect(self.mallory.annotate(name, forgery.annotation(vifs_of(made.uid))), f"{name} was not annotated")
        return made

    def schedule(self, made):
        """Whatever its scheduler is: the user could have written spec.nodeName."""
        self.cluster.insist("POST", f"{made.path}/binding", {"metadata": {"name": made.name}, "target": {"kind": "Node", "name": "node1"}})

    def end(self, pods, tenant=None):
        """Ends mallory's pods, or another tenant's."""
        for made in pods:
            (tenant or self.mallory).delete_pod(made.name)
        self.history.wait(lambda: not any(self.history.pod(made.key, made.uid) for made in pods), "they are gone", WAIT_SECONDS)

    # ---- by name
    def forge_own(self):
        """Its addresses are another's, active or not."""
        taken, taken_addresses = self.blue.run_one("taken")
        self.check_forgery(taken)
        pods = []
        for active in (True, False):
            for address in (*taken_addresses, "10.20.0.28", "10.20.0.1"):
                number = len(pods)
                pods.append(self.create(f"own-{number}", lambda uid, address=address, active=active: forgery.own_vifs(
                    uid, "blue", [address], forgery.mac_of(address), active)))
        try:
            for made in pods:
                self.schedule(made)
            self.wait_until_handled()
            self.tenancy.storm.change_leader()
            self.wait_until_handled()
            has = {made.key: addresses_of(try_plan(self.history.present[PORTS].get(made.key) or {}) or {}) for made in pods}
            nothing([f"{key} with {addresses}" for key, addresses in has.items() if addresses & set(WHOLE_BLUE)], "KuryrPorts")
        finally:
            self.end(pods)
            self.blue.end(taken)

    def check_forgery(self, made):
        """It would have the ids of the pod's plan, and every member."""
        written = self.history.plan(made.key, made.uid)["eth0"]["versioned_object.data"]
        (address,) = addresses_of(self.history.plan(made.key, made.uid))
        forged = forgery.own_vifs(made.uid, "blue", [address], forgery.mac_of(address))["eth0"]["versioned_object.data"]
        names = ("id", "address", "vif_name", "bridge_name", "plugin", "active")
        expect_same({name: written[name] for name in names}, {name: forged[name] for name in names}, "a forged VIF")
        expect_same(written["network"]["versioned_object.data"]["id"], forgery.network_id("blue"), "its network")

    def wait_until_handled(self):
        """A pod that comes after all others is planned: by then they have been looked at."""
        made = self.mallory.made(self.mallory.create_pod("after-all", nodeName="node2"))
        self.history.wait(lambda: self.history.plan(made.key, made.uid), "a pod of theirs is planned", WAIT_SECONDS)
        self.end([made])

    def forge_many(self):
        others = forgery.others_vifs("blue", WHOLE_BLUE, "0a:58:0a:14:00:01")
        split = {f"net{part}" if part else "eth0": forgery.others_vifs("blue", WHOLE_BLUE[part::16], f"0a:58:0a:14:01:0{part:x}")["eth0"]
                 for part in range(16)}
        pods = [self.create("many-others", lambda uid: others), self.create("many-split", lambda uid: split),
                self.create("many-own", lambda uid: forgery.own_vifs(uid, "blue", WHOLE_BLUE, "0a:58:0a:14:00:02")),
                self.create("never", lambda uid: others), self.create("never-own", lambda uid: forgery.own_vifs(
                    uid, "blue", WHOLE_BLUE, "0a:58:0a:14:00:03"))]
        try:
            for made in pods[:3]:
                self.schedule(made)
            self.tenancy.fill()
            self.tenancy.storm.change_leader()
            self.tenancy.fill()
        finally:
            self.end(pods)

    def forge_when_done(self):
        claim = self.blue_claim()
        made, kept = self.blue.run_one("with-claim", {CLAIM: "kept"})
        self.blue.end(made)
        done = self.mallory.made(self.mallory.create_pod("succeeded", nodeName="node1", labels={SUCCEEDS: ""}))
        held = self.mallory.made(self.mallory.create_pod("held", nodeName="node1", finalizers=[HOLD]))
        own = self.mallory.made(self.mallory.create_pod("held-own", nodeName="node1", finalizers=[HOLD]))
        self.history.wait(lambda: self.phase(done) == "Succeeded", "it has succeeded", WAIT_SECONDS)
        for each in (held, own):
            self.mallory.delete_pod(each.name)
        try:
            others = forgery.annotation(forgery.others_vifs("blue", WHOLE_BLUE, "0a:58:0a:14:00:01"))
            for each in (done, held):
                self.mallory.annotate(each.name, others)
            self.mallory.annotate(own.name, forgery.annotation(forgery.own_vifs(own.uid, "blue", sorted(kept), "0a:58:0a:14:00:04")))
            self.tenancy.storm.change_leader()
            again, has = self.blue.run_one("with-claim", {CLAIM: "kept"})
            self.blue.end(again)
            expect_same(sorted(kept), sorted(has), "the claim's addresses")
            self.tenancy.fill(without=kept)
        finally:
            for each in (held, own):
                self.mallory.patch(each.path, {"metadata": {"finalizers": None}})
            self.end([done, held, own])
            self.cluster.insist("DELETE", claim)

    def blue_claim(self):
        path = definitions.path(definitions.CLAIMS, "blue")
        self.cluster.insist("POST", path, definitions.thing(definitions.CLAIMS, "kept", spec={"network": "blue", "interface": "eth0"}))
        return f"{path}/kept"

    def phase(self, made):
        return (self.history.pod(made.key, made.uid) or {}).get("status", {}).get("phase")

    def wish_for_macs(self):
        taken, (address,) = self.blue.run_one("taken")
        macs = bad_macs(address)
        pods = [self.mallory.made(self.mallory.create_pod(f"mac-{number}", {MAC: mac}, nodeName="node1"))
                for number, mac in enumerate(macs)]
        try:
            wait_for_none(lambda: [made.key for made in pods if not self.is_planned(made) and not self.events(made, *REFUSALS)],
                          "neither planned nor refused")
            nothing([f"{made.key} with {mac}" for made, mac in zip(pods, macs) if self.is_planned(made)], "planned")
        finally:
            self.end(pods)
            self.blue.end(taken)

    def forge_macs(self):
        """On plans for addresses that the pods may have."""
        taken, (address,) = self.blue.run_one("taken")
        macs = bad_macs(address)
        pods = [self.trudy.create_pod(f"mac-{number}", schedulerName="hers") for number in range(len(macs))]
        made = [self.trudy.made(pod) for pod in pods]
        try:
            for number, (pod, mac) in enumerate(zip(pods, macs)):
                vifs = forgery.own_vifs(pod["metadata"]["uid"], "tenants", [f"10.40.0.{200 + number}"], mac, active=False)
                expect(self.trudy.ask("POST", self.trudy.ports, forgery.port(pod, vifs)), "it was not created")
                self.schedule(self.trudy.made(pod))
            self.wait_until_handled()
            written = [self.history.present[kind].get(each.key) or {} for each in made for kind in (PODS, PORTS)]
            data = [vif["versioned_object.data"] for each in written for vif in (try_plan(each) or {}).values()]
            nothing([each["address"] for each in data if each["active"] and each["address"] in macs], "made active")
        finally:
            self.end(made, self.trudy)
            self.blue.end(taken)

    def name_another(self):
        """Each beside a pod that has no node, or beside none."""
        victim, addresses = self.blue.run_one("victim")
        own = self.trudy.create_pod("thief", schedulerName="hers")
        ghost = {"metadata": {"name": "ghost", "uid": victim.uid}, "spec": {}}
        wishes = []
        try:
            for pod in (own, ghost):
                for pool, wanted in (("blue", sorted(addresses)), ("tenants", ["10.40.0.200"])):
                    port = forgery.port(pod, forgery.own_vifs(victim.uid, pool, wanted, forgery.mac_of(wanted[0])))
                    port["spec"]["podUid"] = victim.uid
                    expect(self.trudy.ask("POST", self.trudy.ports, port), "it was not created")
                    self.wait_until_handled()
                    self.trudy.delete_port(port["metadata"]["name"])
                    self.history.wait(lambda: "trudy" not in {key.split("/")[0] for key in self.history.present[PORTS]}, "it is gone",
                                      WAIT_SECONDS)
                    self.wait_until_handled()
            wishes = [self.blue.create_pod("wishes", {ADDRESSES: ",".join(addresses)})]
            wait_for_none(lambda: [made.key for made in wishes if not self.is_planned(made) and not self.events(made, *REFUSALS)],
                          "neither planned nor refused")
            nothing([f"{made.key} with {addresses}" for made in wishes if self.is_planned(made)], "planned")
        finally:
            self.trudy.delete_pod("thief")
            for made in (*wishes, victim):
                self.blue.end(made)

    def is_planned(self, made):
        return self.history.plan(made.key, made.uid) is not None

    def events(self, made, *reasons):
        events = self.cluster.insist("GET", f"/api/v1/namespaces/{made.namespace}/events")["items"]
        return [event for event in events if event["involvedObject"].get("uid") == made.uid and event["reason"] in reasons]

    def be_refused_often(self):
        with ThreadPoolExecutor(CLIENTS) as clients:
            created = list(clients.map(self.create_refused, range(self.tenancy.options.refused)))
        expect(all(created), "some were not created")
        self.tenancy.fill()
        self.tenancy.storm.change_leader()
        self.tenancy.fill()
        nothing([pod["metadata"]["name"] for pod in created if self.is_planned(self.mallory.made(pod))], "planned")
        self.mallory.ask("DELETE", f"{self.mallory.pods}?gracePeriodSeconds=0")

    def create_refused(self, number):
        return self.mallory.create_pod(f"refused-{number}", {ADDRESSES: "10.20.0.10"}, nodeName="node1")

    def let_all_rest(self):
        with ThreadPoolExecutor(CLIENTS) as clients:
            pods = list(clients.map(lambda number: self.mallory.create_pod(f"brief-{number}", labels=SHARED_LABEL, nodeName="node1"),
                                    range(SHARED_SIZE)))
        brief = [self.mallory.made(pod) for pod in pods]
        self.history.wait(lambda: all(map(self.is_planned, brief)), "they have all addresses", WAIT_SECONDS)
        self.end(brief)
        victim = self.trudy.made(self.trudy.create_pod("victim", labels=SHARED_LABEL, nodeName="node1"))
        self.history.wait(lambda: self.is_planned(victim), "another's pod has an address", WAIT_SECONDS)
        self.end([victim], self.trudy)


def bad_macs(address):
    """The MAC of the pod on the bridge that has the address, in two forms, and MACs that no interface may have."""
    taken = forgery.mac_of(address)
    return taken, taken.upper(), "01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00"
