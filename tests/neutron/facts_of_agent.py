"""ML2/OVS: neutron-openvswitch-agent wires, filters and reports the ports of pods, by either of its firewalls."""
from pathlib import Path
from subprocess import CalledProcessError

from harness.expectation import expect, expect_same
from harness.process import run
from harness.report import Skipped
from neutron import facts_of_groups, facts_of_planning
from neutron.facts_of_groups import OTHER_PORT
from neutron.network import WEB_PORT
from ovn import exchange
from ovn.exchange import FAMILIES

FLOWS, HYBRID = "openvswitch", "iptables_hybrid"
BRIDGED = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")


def check(facts, planning, agent):
    pods = Filtered(facts, planning)
    facts_of_planning.live(facts, planning, FLOWS, lambda made: pods.visit(made, FLOWS))
    with facts.fact("killed between the port's POST and its writing, the next one writes that port, and makes no second"):
        facts_of_planning.outlive_a_kill(planning)
    if restart(facts, agent):
        facts_of_planning.live(facts, planning, HYBRID, lambda made: pods.visit(made, HYBRID))


def restart(facts, agent):
    """Whether it runs with iptables now."""
    with facts.fact(f"{HYBRID}: the agent was killed and is back with iptables for a firewall, and Neutron says that it lives"):
        need_iptables()
        agent.kill()
        agent.start(HYBRID)
        return True
    return False


def need_iptables():
    """Those that see what bridges forward."""
    if not BRIDGED.exists():
        raise Skipped(f"no {BRIDGED}: this kernel has no br_netfilter")
    for program in ("iptables", "ip6tables"):
        try:
            run(program, "--append", "FORWARD", "--match", "physdev", "--physdev-is-bridged", "--jump", "ACCEPT")
        except CalledProcessError as error:
            raise Skipped(f"this kernel lacks xt_physdev: {error.stderr.strip()}") from None
        run(program, "--delete", "FORWARD", "--match", "physdev", "--physdev-is-bridged", "--jump", "ACCEPT")


class Filtered:
    """Two pods whose ports change their security groups."""

    def __init__(self, facts, planning):
        self.facts, self.planning, self.network = facts, planning, planning.network

    def visit(self, made, firewall):
        client, server = made
        with self.facts.fact(f"{firewall}: a pod's plan is what this firewall wants"):
            vif = self.planning.vifs_of(server.pod.name)["eth0"]
            bridge = ("qbr" + vif["id"])[:14] if firewall == HYBRID else "br-int"
            expect_same(bridge, vif["bridge_name"], "bridge")
            expect_same("netdev", vif["port_profile"]["versioned_object.data"]["datapath_type"], "datapath")
        with self.facts.fact(f"{firewall}: a port whose group lets TCP {WEB_PORT} in drops other TCP, UDP, and ping"):
            self.put_into(server, self.network.web)
            for family in FAMILIES:
                self.planning.wait_for(f"what is dropped, IPv{family}", lambda family=family: self.drops(client, server, family))
        with self.facts.fact(f"{firewall}: what the pod begins itself goes out, and its answers come in"):
            for family in FAMILIES:
                exchange.tcp(server, client, family)
                exchange.udp(server, client, family)
        with self.facts.fact(f"{firewall}: with its first group again, everything goes in"):
            self.put_into(server, self.network.open)
            for family in FAMILIES:
                exchange.tcp(client, server, family, OTHER_PORT)
                exchange.udp(client, server, family)
                exchange.ping(client, server, family)

    def put_into(self, made, group):
        self.planning.neutron.request("PUT", f"ports/{made.pod.plan.id}", {"port": {"security_groups": [group]}})

    @staticmethod
    def drops(client, server, family):
        """Not yet, as long as the agent has not heard of the group."""
        try:
            facts_of_groups.drops_others(client, server, family)
        except AssertionError as early:
            expect("has arrived" in str(early), early)
            return False
        return True
