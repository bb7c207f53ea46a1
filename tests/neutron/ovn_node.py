"""A node of OVN's with a Keystone and a Neutron, and later a cluster whose pods kuryr-controller plans there."""
from concurrent.futures import ThreadPoolExecutor

from controller.cluster import Cluster
from harness.kube_api import find_programs
from harness.report import Skipped
from neutron import database, services
from neutron.keystone import Keystone
from neutron.network import SUBNETS, Network
from neutron.planning import Planning
from neutron.server import OVN, URL, Neutron
from ovn.node import make_node


class NeutronNode:
    def __init__(self, facts, chosen, mechanism=OVN, subnets=SUBNETS):
        """chosen: the launcher's options; mechanism: OVN's options of Neutron, or others; subnets: Network's."""
        self.facts, self.chosen = facts, chosen
        with facts.fact("a node with OVN, a Keystone, and a Neutron", basis=True):
            with ThreadPoolExecutor() as others:
                keystone, tables = others.submit(Keystone, URL), others.submit(database.start)
                self.node = make_node(chosen.plugin, chosen.daemon)
            tables.result()
            self.before = self.node.remains()
            self.keystone = keystone.result()
            neutron = Neutron(mechanism, self.keystone)
            # Neutron answers requests before it has made what all ports need.
            self.node.ovn.nbctl("wait-until", "Port_Group", "neutron_pg_drop", "name=neutron_pg_drop")
            self.network = Network(neutron, subnets)

    def planning(self, **options):
        """Plans pods of another API server than the node's. options: Planning's."""
        with self.facts.fact("a real API server, a kuryr-daemon, and a kuryr-controller that plans with Neutron", basis=True):
            programs, why = find_programs()
            if not programs:
                raise Skipped(why)
            self.node.agent.kill()
            return Planning(self.node, self.network, Cluster(programs, options=services.api_options(programs)), self.chosen, **options)
