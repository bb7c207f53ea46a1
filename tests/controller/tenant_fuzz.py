"""Requests of a tenant by chance: all that its rights reach, and some that they do not."""
import json
import random

from controller import definitions, forgery
from controller.history import PODS
from controller.nodes import SUCCEEDS
from controller.plan import FINALIZER
from controller.tenant_attacks import ADDRESSES, CLAIM, MAC
from controller.tenants import HOLD
from harness.pod import ANNOTATION

NAMES = [f"pod-{number}" for number in range(8)]
PORT_NAMES = NAMES + [f"ghost-{number}" for number in range(4)]
CLAIM_NAMES = ("claim-0", "claim-1", "$(POD_NAME)", "../secrets", "kept")
NETWORK_NAMES = ("net-a", "net-b", "blue/net-a", "net-a@eth0", "net-a@../x", "none")
FINALIZERS = (HOLD, FINALIZER)
MACS = ("01:00:5e:00:00:01", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "0a:58:0a:14:00:0a", "0A-58-0A-14-00-0B", "0a:58:0a:1e:00:0c", "x",
        "02:00:00:00:00:01", "0a:58:0a:28:00:0a")
ADDRESSES_OF_OTHERS = [f"10.{net}.0.{number}" for net in (20, 30) for number in (0, 1, 10, 11, 15, 28, 29, 255)]
ODD_ADDRESSES = ("10.40.0.1", "10.40.0.0", "10.40.0.255", "224.0.0.1", "::ffff:10.20.0.10", "fe80::1", "0.0.0.0", "10.20.0.010")
TEXTS = ("", " ", "\u0000", "[", "{}", "[]", "null", "0", "\"", "x" * 5000, "[" * 200, "{\"a\":1,\"a\":2}", "\ufffd")


class Fuzz:
    def __init__(self, tenant, requests, seed, ranges):
        self.tenant, self.requests = tenant, requests
        self.chance = random.Random(seed)
        self.own = sorted(ranges[tenant.name])
        self.pods = {}  # {name: the object as it was created}

    def run(self):
        acts = COMMON + MORE if self.tenant.has_more else COMMON * 4 + MORE
        for _ in range(self.requests):
            self.chance.choice(acts)(self)

    # ---- acts
    def create_pod(self):
        name = self.chance.choice(NAMES)
        spec = self.chance.choice(({"nodeName": self.chance.choice(("node1", "node2", "none"))}, {"nodeName": "node3"}, {},
                                   {"schedulerName": "hers"}, {"nodeName": "node1", "hostNetwork": True}))
        labels = {SUCCEEDS: ""} if self.chance.random() < 0.15 else self.labels()
        finalizers = self.chance.sample(FINALIZERS, self.chance.choice((0, 0, 0, 1, 2)))
        pod = self.tenant.create_pod(name, self.annotations(), labels, finalizers, **spec)
        if pod:
            self.pods[name] = pod

    def annotate(self):
        self.tenant.annotate(self.chance.choice(NAMES), self.annotations())

    def take_away(self):
        what = self.chance.choice(({"annotations": None}, {"finalizers": None}, {"finalizers": [self.chance.choice(FINALIZERS)]},
                                   {"labels": self.labels()}, {"ownerReferences": []}))
        self.tenant.patch(f"{self.tenant.pods}/{self.chance.choice(NAMES)}", {"metadata": what})

    def delete_pod(self):
        name = self.chance.choice(NAMES)
        self.tenant.delete_pod(name, self.chance.choice((0, 0, 1, 30)))
        self.tenant.patch(f"{self.tenant.pods}/{name}", {"metadata": {"finalizers": None}})

    def write_status(self):
        name = self.chance.choice(NAMES)
        address = self.address()
        self.tenant.patch(f"{self.tenant.pods}/{name}/status", {"status": {"podIP": address, "podIPs": [{"ip": address}]}})

    def bind(self):
        name = self.chance.choice(NAMES)
        self.tenant.ask("POST", f"{self.tenant.pods}/{name}/binding", {
            "metadata": {"name": name}, "target": {"kind": "Node", "name": "node1"}})

    def write_port(self):
        name = self.chance.choice(NAMES)
        if name not in self.pods:
            return
        port = forgery.port(self.pods[name], self.vifs(name))
        if self.chance.random() < 0.2:
            self.name_another(port)
        for member in self.chance.sample(("finalizers", "ownerReferences", "annotations", "labels"), self.chance.randrange(3)):
            port["metadata"].pop(member)
        if self.chance.random() < 0.1:
            port["status"]["vifs"] = self.chance.choice(({}, {"eth0": {}}, {"eth0": {"default": True, "vif": []}}))
        self.tenant.ask("POST", self.tenant.ports, port)

    def name_another(self, port):
        """A pod of another namespace, of which it may have heard."""
        others = [pod["metadata"]["uid"] for key, pod in list(self.tenant.cluster.history.present[PODS].items())
                  if key.split("/")[0] != self.tenant.name]
        if others:
            port["metadata"]["name"] = self.chance.choice(PORT_NAMES)
            port["spec"]["podUid"] = self.chance.choice(others)
            port["status"]["vifs"]["eth0"]["vif"]["versioned_object.data"]["id"] = forgery.vif_id(port["spec"]["podUid"])

    def change_port(self):
        name = self.chance.choice(NAMES)
        other = self.pods.get(self.chance.choice(NAMES), {"metadata": {"uid": "x"}})["metadata"]["uid"]
        change = self.chance.choice(({"metadata": {"finalizers": None}}, {"metadata": {"annotations": None}}, {"status": None},
                                     {"spec": {"podUid": other}},
                                     {"metadata": {"annotations": {"kuryr.openstack.org/former-addresses": self.addresses()}}},
                                     {"status": {"vifs": {"eth0": {"default": True, "vif": self.vifs(name)["eth0"]}}}}))
        self.tenant.patch(f"{self.tenant.ports}/{self.chance.choice(PORT_NAMES)}", change)

    def delete_port(self):
        self.tenant.ask("DELETE", self.tenant.ports + self.chance.choice((f"/{self.chance.choice(PORT_NAMES)}", "")))

    def write_claim(self):
        path = definitions.path(definitions.CLAIMS, self.tenant.name)
        name = self.chance.choice(CLAIM_NAMES[:2])
        self.tenant.ask("POST", path, definitions.thing(definitions.CLAIMS, name, spec={"network": "blue", "interface": "eth0"}))
        ips = self.chance.choice(([f"{self.address()}/24"], [self.address()], [f"{each}/24" for each in ADDRESSES_OF_OTHERS], ["x"], []))
        self.tenant.patch(f"{path}/{name}/status", {"status": {"ips": ips, "ownerPod": {"name": self.chance.choice(NAMES)}}})

    def delete_claim(self):
        self.tenant.ask("DELETE", f"{definitions.path(definitions.CLAIMS, self.tenant.name)}/{self.chance.choice(CLAIM_NAMES[:2])}")

    def write_network(self):
        path = definitions.path(definitions.NETWORKS, self.tenant.name)
        name, pool = self.chance.choice(("net-a", "net-b")), self.chance.choice(("blue", "green", "tenants", "none", "x" * 300, 7))
        config = self.chance.choice((json.dumps({"pool": pool}), json.dumps({"subnetId": pool}), self.chance.choice(TEXTS)))
        self.tenant.ask("DELETE", f"{path}/{name}")
        self.tenant.ask("POST", path, definitions.thing(definitions.NETWORKS, name, metadata={
            "annotations": {"openstack.org/kuryr-config": config}}, spec={"config": self.chance.choice(TEXTS)}))

    # ---- parts
    def annotations(self):
        """Some, each malformed or meant ill."""
        made = {ANNOTATION: self.plan, ADDRESSES: self.addresses, MAC: lambda: self.chance.choice(MACS), CLAIM: self.claim,
                "k8s.v1.cni.cncf.io/networks": self.networks, "kuryr.openstack.org/former-addresses": self.addresses,
                "kuryr.openstack.org/planner": lambda: "kuryr-controller", "kuryr.openstack.org/security-groups": self.text,
                "k8s.v1.cni.cncf.io/network-status": self.networks, "cni.projectcalico.org/ipAddrs": self.addresses}
        chosen = self.chance.sample(sorted(made), self.chance.choice((0, 1, 1, 2, 3)))
        return {name: self.text() if self.chance.random() < 0.1 else made[name]() for name in chosen}

    def plan(self):
        return forgery.annotation(self.vifs(self.chance.choice(NAMES)))[ANNOTATION]

    def vifs(self, name):
        pool = self.chance.choice(("blue", "green", "tenants"))
        addresses = self.chance.choice(([self.address()], [self.address(), self.address()], [f"10.20.0.{n}" for n in range(1, 255)],
                                        [f"10.30.0.{n}" for n in range(10, 30)]))
        mac, active = self.chance.choice(MACS[:4] + MACS[5:6] + MACS[7:]), self.chance.random() < 0.6
        if name in self.pods and self.chance.random() < 0.7:
            return forgery.own_vifs(self.pods[name]["metadata"]["uid"], pool, addresses, mac, active)
        return forgery.others_vifs(pool, addresses, mac, active)

    def address(self):
        """An IPv4 one."""
        return self.chance.choice(self.chance.choice((ADDRESSES_OF_OTHERS, self.own, ODD_ADDRESSES[:4])))

    def addresses(self):
        return ",".join(self.chance.choice(self.chance.choice((ADDRESSES_OF_OTHERS, self.own, ODD_ADDRESSES)))
                        for _ in range(self.chance.choice((1, 1, 2, 20))))

    def claim(self):
        return self.chance.choice(CLAIM_NAMES)

    def networks(self):
        if self.chance.random() < 0.5:
            return ",".join(self.chance.choice(NETWORK_NAMES) for _ in range(self.chance.choice((1, 2, 17))))
        return json.dumps([{"name": self.chance.choice(("net-a", "net-b")), "interface": self.chance.choice(("eth1", "eth0", "..", "net1")),
                            "ips": [self.address()], "mac": self.chance.choice(MACS), "ipam-claim-reference": self.claim()}])

    def text(self):
        return self.chance.choice(TEXTS)

    def labels(self):
        return {"app": self.chance.choice(("db", "web")), "kuryr.openstack.org/nodeName": self.chance.choice(("node1", "x"))}


COMMON = (*[Fuzz.create_pod] * 6, *[Fuzz.annotate] * 3, Fuzz.take_away, *[Fuzz.delete_pod] * 4, Fuzz.write_status, Fuzz.bind)
# With rights that ClusterRole edit does not have.
MORE = (*[Fuzz.write_port] * 3, Fuzz.change_port, Fuzz.delete_port, Fuzz.write_claim, Fuzz.delete_claim, Fuzz.write_network)
