"""The clusters of tests/policies/run, and what each backend has of pods and policies."""
import time

from harness.expectation import expect
from harness.report import Skipped
from neutron import server
from neutron.ovn_node import NeutronNode
from neutron.planning import Planning
from ovn import central
from ovn.central import NORTHBOUND
from ovn.controlled_pods import ControlledPods
from ovn.node import make_node
from policies import facts_of_ovn
from policies.admin_chance import define
from policies.local_cluster import LocalCluster
from policies.policy_chance import CIDRS

OVN = f"""[controller]
backend = ovn
leader_elect = false
[ovn]
nb_connection = {NORTHBOUND}
[pool:pods]
cidr = {', '.join(CIDRS.values())}
ranges = 10.44.0.2-10.44.0.31, fd00:44::2-fd00:44::1f
gateway = none
default = true
rest = 1
"""
# Neutron takes any address of a pool: with few, policies' blocks have some of the pods.
FIRST_AND_LAST = {4: ("10.44.0.2", "10.44.0.15"), 6: ("fd00:44::2", "fd00:44::f")}
SUBNETS = {family: {"cidr": CIDRS[family], "allocation_pools": [{"start": first, "end": last}]}
           for family, (first, last) in FIRST_AND_LAST.items()}
POLICY_OPTIONS = "[kubernetes]\npod_security_groups_driver = policy\n"
# For an ADD and for a change of policies, on a busy machine too.
NEUTRON_SECONDS = 120
# Between two groups that it makes.
SETTLE_SECONDS = 3


def require(missing):
    if missing:
        raise Skipped(f"not installed: {', '.join(missing)}; tests/packages test ovn neutron brings them")


class Local:
    policies, has_admins = 40, True

    def __init__(self, facts, chosen):
        with facts.fact("two nodes in routed pools, with kuryr-controller and kuryr-daemon", basis=True):
            self.cluster = LocalCluster(chosen, define)
        self.explain = self.cluster.explain

    def state_own_facts(self, facts, pods):
        """Facts of this backend alone. pods: PolicedPods without policies."""

    def expect_nothing_of_policies(self, facts):
        with facts.fact("without policies, no node has a table of them"):
            for node in self.cluster.nodes:
                Planning.wait_for(f"no table on {node.host.name}", lambda node=node: "kuryr-policy" not in node.host.run("nft list tables"))

    def expect_nothing_of_pods(self, facts):
        with facts.fact("pods that go leave no port and no record"):
            for node in self.cluster.nodes:
                left = node.kuryr.remains() | {port for port in node.ovs.ports() if port.startswith("tap")}
                expect(not left, f"{node.host.name}: {left}")


class OnOvn:
    policies, has_admins, explain = 30, True, None

    def __init__(self, facts, chosen):
        with facts.fact("a node on OVN, with kuryr-controller and kuryr-daemon", basis=True):
            require(central.find_missing())
            self.cluster = ControlledPods(chosen, make_node(chosen.plugin, chosen.daemon), OVN, define=define)

    def state_own_facts(self, facts, pods):
        facts_of_ovn.check(facts, pods)

    def expect_nothing_of_policies(self, facts):
        with facts.fact("without policies, the northbound database has no port group"):
            facts_of_ovn.expect_no_rows(self.cluster.node.ovn, facts_of_ovn.OF_POLICIES)

    def expect_nothing_of_pods(self, facts):
        with facts.fact("pods that go leave no row in the northbound database"):
            facts_of_ovn.expect_no_rows(self.cluster.node.ovn, (*facts_of_ovn.OF_POLICIES, ("Logical_Switch_Port",)))


class OnNeutron:
    policies, has_admins, explain = 10, False, None

    def __init__(self, facts, chosen):
        with facts.fact("the machine has a Neutron", basis=True):
            require(central.find_missing() + server.find_missing())
        made = NeutronNode(facts, chosen, subnets=SUBNETS)
        self.network, self.neutron = made.network, made.network.neutron
        with facts.fact("kuryr-controller and kuryr-daemon", basis=True):
            self.cluster = ControlledPods(chosen, made.node, self.network.backend() + POLICY_OPTIONS, seconds=NEUTRON_SECONDS)
            # Those of every cluster with policies.
            self.usual_groups = Planning.wait_for("groups", self.settled_groups)

    def groups(self):
        """The names of the security groups that kuryr-controller has made."""
        return {each["name"] for each in self.neutron.get("security-groups?fields=name")["security_groups"]
                if each["name"].startswith("kuryr-policy")}

    def settled_groups(self):
        """The same, when it has made no other one for a while: it makes them one after another, and nobody tells when it has all."""
        before = self.groups()
        time.sleep(SETTLE_SECONDS)
        return before if before == self.groups() else set()

    def state_own_facts(self, facts, pods):
        pass

    def expect_nothing_of_policies(self, facts):
        with facts.fact("policies that go leave no security group"):
            Planning.wait_for("the groups of every cluster alone", lambda: self.groups() == self.usual_groups)

    def expect_nothing_of_pods(self, facts):
        with facts.fact("pods that go leave no port"):
            Planning.wait_for("no port", lambda: not self.neutron.get(f"ports?network_id={self.network.network['id']}")["ports"])


BACKENDS = {"local": Local, "ovn": OnOvn, "neutron": OnNeutron}
