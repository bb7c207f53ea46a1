"""A namespace's network: made for its first pod, connected by the router, and gone with the namespace."""
import signal

from harness.expectation import expect, expect_same
from neutron.namespaces import Namespaces
from neutron.network import TAG
from ovn import exchange
from ovn.exchange import FAMILIES
from ovn.node import AGENT, ALONE

FIRST, OTHER = "team-a", "team-b"


def check(facts, planning):
    """The namespaces, whose kuryr-controller lives."""
    with facts.fact("namespaces: a kuryr-controller gives each namespace a network of its own", basis=True):
        spaces = Namespaces(planning)
    server, client = come(facts, planning, spaces)
    for family in FAMILIES:
        with facts.fact(f"namespaces: TCP from one namespace's pod to another's goes through the router, IPv{family}"):
            exchange.tcp(client, server, family)
    second = come_again(facts, planning, spaces, client)
    with facts.fact("namespaces: with a namespace its router interfaces, subnets and network go, and another's stay"):
        spaces.end_pods(server)
        spaces.delete(FIRST)
        planning.wait_for("nothing of it in Neutron", lambda: has_nothing(spaces, FIRST))
        expect_same([1, 2], [len(spaces.networks(OTHER)), len(spaces.router_subnets())], "the other's network and interfaces")
        exchange.tcp(second, client, 4)
    with facts.fact("namespaces: what ended while no kuryr-controller ran goes when one begins"):
        spaces.end_pods(client, second)
        spaces.controller.end(signal.SIGTERM)
        spaces.delete(OTHER)
        spaces.controller.start()
        planning.wait_for("nothing of it in Neutron", lambda: has_nothing(spaces, OTHER))
        expect_same(set(), spaces.router_subnets(), "the router's interfaces")
    return spaces


def come(facts, planning, spaces):
    all_made = []
    with facts.fact("namespaces: with the first pod come a network, subnets and interfaces of the router", basis=True):
        for name, mode in ((FIRST, AGENT), (OTHER, ALONE)):
            uid = spaces.create(name)
            made, port, _ = planning.run_pod("first", mode, namespace=name)
            all_made.append(made)
            network, = spaces.networks(name)
            subnets = spaces.subnets_of(name)
            expect_same([port["network_id"], spaces.mark(uid), [TAG]], [network[key] for key in ("id", "description", "tags")], "network")
            expect_same([{4, 6}, [[TAG], [TAG]]], [{each["ip_version"] for each in subnets}, [each["tags"] for each in subnets]], "subnets")
            identities = {each["id"] for each in subnets}
            expect_same(identities, {ip["subnet_id"] for ip in port["fixed_ips"]}, "the pod's subnets")
            expect(identities <= spaces.router_subnets(), "the router has no interface in a subnet")
    return all_made


def come_again(facts, planning, spaces, first):
    with facts.fact("namespaces: a second pod is in the same network, and is reached in it"):
        made, port, _ = planning.run_pod("second", namespace=OTHER)
        expect_same([port["network_id"]], [each["id"] for each in spaces.networks(OTHER)], "networks")
        for family in FAMILIES:
            exchange.tcp(made, first, family)
        return made


def has_nothing(spaces, name):
    return not spaces.networks(name) and not spaces.subnets_of(name)
