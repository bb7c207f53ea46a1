"""A node whose ports neutron-openvswitch-agent wires, with a Neutron that has ML2/OVS."""
from concurrent.futures import ThreadPoolExecutor

from neutron import agent, broker, database
from neutron.agent import OpenVSwitchAgent
from neutron.facts_of_agent import FLOWS
from neutron.keystone import NoKeystone
from neutron.server import URL, Neutron


def wire(facts, make):
    """make(): makes the node, and what the caller needs beside it. (what make() returned, the Neutron, the agent that filters by
    flows)"""
    with facts.fact("a node, an API server, RabbitMQ, and a Neutron with ML2/OVS", basis=True):
        with ThreadPoolExecutor() as others:
            parts = [others.submit(start) for start in (database.start, broker.start)]
            made = make()
        for part in parts:
            part.result()
        neutron = Neutron(agent.SERVER_OPTIONS, NoKeystone(URL))
    with facts.fact("neutron-openvswitch-agent starts, and Neutron says that it lives", basis=True):
        wiring = OpenVSwitchAgent(neutron)
        wiring.start(FLOWS)
    return made, neutron, wiring
