"""NetworkPolicies hold by security groups, for pods that ran before and pods that come; the node reaches them all."""
import contextlib
import signal
import socket
import time

from controller.controllers import Controller
from harness.expectation import expect, expect_same
from neutron.http_api import Refused
from neutron.network import CIDRS, WEB_PORT
from ovn import exchange
from ovn.exchange import FAMILIES

POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
OPTIONS = "[kubernetes]\npod_security_groups_driver = policy\n"
OTHER_PORT = 81
SECONDS = 30
STALE_SECONDS = 5
TRY_SECONDS = 0.3
MARK = "kuryr-policy"
SERVER, FRIEND = {"app": "server"}, {"app": "friend"}


class Policies:
    def __init__(self, nodes, options):
        """A kuryr-controller that enforces policies, in the place of the one of `nodes`. options: what that one's kuryr.conf says
        of the backend."""
        self.nodes, self.planning, self.api = nodes, nodes.planning, nodes.api
        nodes.controller.end(signal.SIGTERM)
        self.controller = Controller(6, self.planning.controller.program, self.api, "kuryrport", options + OPTIONS)
        self.planning.wait_for("it leads", self.controller.is_ready)

    def apply(self, name, spec):
        """Creates the policy, or replaces it."""
        with contextlib.suppress(OSError):
            self.remove(name)
        self.api.request("POST", POLICIES, {"metadata": {"name": name}, "spec": spec})

    def remove(self, name):
        self.api.request("DELETE", f"{POLICIES}/{name}")

    def label(self, made, labels):
        self.api.patch(f"{self.planning.path('pods')}/{made.pod.name}", {"metadata": {"labels": labels}})

    def groups(self):
        """{name: group} of the policies in Neutron."""
        return {each["name"]: each for each in self.planning.neutron.get("security-groups")["security_groups"]
                if each["name"].startswith(MARK)}

    def wait_for(self, source, target, wanted, port=WEB_PORT, families=FAMILIES):
        """Waits until connections are made in all families, or in none, as wanted. How long it took."""
        started = time.monotonic()
        while any(reaches(source, target, family, port) != wanted for family in families):
            took = time.monotonic() - started
            expect(took < SECONDS, f"{'closed' if wanted else 'open'} after {SECONDS} s: TCP {port}")
            if took > STALE_SECONDS:
                # Open vSwitch 3.1.0 may keep an outdated flow of the userspace datapath while packets use it.
                self.planning.node.ovs.forget_flows()
        return time.monotonic() - started

    def kill(self):
        self.controller.end(signal.SIGKILL)

    def start(self):
        self.controller.start()
        self.planning.wait_for("it leads", self.controller.is_ready)


def reaches(source, target, family, port):
    """Whether one connection is made in a short time."""
    with exchange.server_in(target, family, socket.SOCK_STREAM, port), \
            exchange.socket_in(source, family, socket.SOCK_STREAM) as client:
        client.settimeout(TRY_SECONDS)
        try:
            client.connect((target.pod.plan.address(family), port))
        except TimeoutError:
            return False
        return True


def ingress(peers, ports=None):
    rule = {"from": peers} if peers else {}
    return {"podSelector": {"matchLabels": SERVER}, "policyTypes": ["Ingress"],
            "ingress": [rule | ({"ports": ports} if ports else {})]}


def check(facts, nodes, options, client, server):
    """client, server: running pods without labels."""
    with facts.fact("policies: a kuryr-controller begins to enforce them, and running pods keep their groups", basis=True):
        policies = Policies(nodes, options)
        policies.label(server, SERVER)
        policies.planning.wait_for("the groups of all clusters", lambda: len(policies.groups()) == 4)
        policies.wait_for(client, server, True)
    isolate(facts, policies, client, server)
    restrict(facts, policies, client, server)
    outlive(facts, policies, client, server)
    newcomer(facts, policies, client, server)
    with facts.fact("policies: the last one goes, pods are open, and no group of a policy is left"):
        for name in ("web", "all"):
            with contextlib.suppress(OSError):
                policies.remove(name)
        policies.wait_for(client, server, True, OTHER_PORT)
        policies.planning.wait_for("no group", lambda: len(policies.groups()) == 4)
        for made in (client, server):
            port, = policies.planning.ports_of(made.pod.uid)
            expect_same([policies.planning.network.open], port["security_groups"], "groups")
    policies.controller.end(signal.SIGTERM)
    nodes.controller.start()
    policies.planning.wait_for("the former kuryr-controller leads", nodes.controller.is_ready)


def isolate(facts, policies, client, server):
    with facts.fact("policies: one isolates a running pod, which its node still reaches, and which reaches others"):
        policies.apply("web", {"podSelector": {"matchLabels": SERVER}, "policyTypes": ["Ingress"]})
        print(f"  closed after {policies.wait_for(client, server, False):.2f} s", flush=True)
        for family in FAMILIES:
            exchange.tcp(policies.nodes.end(), server, family)
            exchange.tcp(server, client, family)
    with facts.fact("policies: a peer is let in, by its labels, at the port of the rule alone"):
        policies.label(client, FRIEND)
        policies.apply("web", ingress([{"podSelector": {"matchLabels": FRIEND}}], [{"port": WEB_PORT}]))
        policies.wait_for(client, server, True)
        policies.wait_for(client, server, False, OTHER_PORT)
    with facts.fact("policies: new labels of a pod count at once"):
        policies.label(client, {"app": "stranger"})
        print(f"  closed after {policies.wait_for(client, server, False):.2f} s", flush=True)
        policies.label(client, FRIEND)
        print(f"  open after {policies.wait_for(client, server, True):.2f} s", flush=True)


def restrict(facts, policies, client, server):
    with facts.fact("policies: blocks of addresses without their exceptions, and several ports"):
        ports = [{"port": WEB_PORT}, {"port": OTHER_PORT}]
        policies.apply("web", ingress([{"ipBlock": {"cidr": CIDRS[4]}}], ports))
        policies.wait_for(client, server, True, families=(4,))
        policies.wait_for(client, server, False, families=(6,))
        policies.wait_for(client, server, True, OTHER_PORT, families=(4,))
        address = client.pod.plan.address(4)
        policies.apply("web", ingress([{"ipBlock": {"cidr": CIDRS[4], "except": [f"{address}/32"]}}], ports))
        policies.wait_for(client, server, False)
    with facts.fact("policies: an egress policy isolates the sender"):
        policies.remove("web")
        policies.wait_for(client, server, True)
        policies.apply("all", {"podSelector": {"matchLabels": FRIEND}, "policyTypes": ["Egress"]})
        policies.wait_for(client, server, False)
        policies.remove("all")
        policies.wait_for(client, server, True)


def outlive(facts, policies, client, server):
    with facts.fact("policies: one that comes while kuryr-controller is dead holds from its start, and others hold meanwhile"):
        policies.apply("web", ingress([{"podSelector": {"matchLabels": FRIEND}}], [{"port": WEB_PORT}]))
        policies.wait_for(client, server, False, OTHER_PORT)
        policies.kill()
        policies.label(client, {"app": "stranger"})
        policies.wait_for(client, server, False, OTHER_PORT)
        policies.wait_for(client, server, True)
        policies.start()
        policies.wait_for(client, server, False)
    with facts.fact("policies: kuryr-controller is killed while it writes, and the next one ends what it began"):
        policies.apply("web", ingress([{"podSelector": {"matchLabels": {"app": "stranger"}}}], [{"port": WEB_PORT}]))
        policies.kill()
        policies.start()
        policies.wait_for(client, server, True)
        policies.wait_for(client, server, False, OTHER_PORT)
    with facts.fact("policies: a rule that somebody deletes in Neutron comes back"):
        for group in policies.groups().values():
            for rule in group["security_group_rules"]:
                if rule["port_range_min"] == WEB_PORT:
                    # kuryr-controller may be about to delete one that nothing needs.
                    with contextlib.suppress(Refused):
                        policies.planning.neutron.delete("security_group_rule", rule["id"])
        # It looks when it begins to lead.
        policies.kill()
        policies.start()
        policies.wait_for(client, server, True)


def newcomer(facts, policies, client, server):
    with facts.fact("policies: the port of a pod that comes is made with its groups, and the pod is isolated from its first packet"):
        uid = policies.planning.create("isolated", labels=SERVER)
        made = policies.planning.attach("isolated", uid)
        made.add().result()
        port = policies.planning.take_plan(made)
        expect(policies.planning.network.open not in port["security_groups"], "it has the groups of pods without policies")
        for family in FAMILIES:
            expect(not reaches(client, made, family, OTHER_PORT), "it is open")
        policies.wait_for(client, made, True)
        made.delete().silent()
        policies.planning.delete("isolated")
        policies.planning.wait_for("no port", lambda: not policies.planning.ports_of(uid))
