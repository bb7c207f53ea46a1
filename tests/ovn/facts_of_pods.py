"""Pods on logical ports: claimed, reaching each other, filtered, released."""
import socket

from ovn import exchange
from ovn.exchange import FAMILIES, KINDS, PORT
from ovn.node import AGENT, ALONE, MODES, running_pod
from ovn.topology import SWITCHES

DENIED_PORT = PORT + 1


class Pods:
    """A pod for each mode and switch."""

    def __init__(self, node, topology):
        self.node = node
        self.all = {(mode, switch): running_pod(node, topology.add_port(switch), mode)
                    for mode in MODES for switch in SWITCHES}
        first = self.all[AGENT, 1]
        self.ways = {"on one switch": (first, self.all[ALONE, 1]), "across the router": (first, self.all[ALONE, 2])}

    def reach_each_other(self):
        for source, target in self.ways.values():
            for family in FAMILIES:
                for send in KINDS.values():
                    send(source, target, family)


def claims(facts, node, pods):
    for mode in MODES:
        with facts.fact(f"{mode}: OVN claims the ports: chassis, up, ovn-installed"):
            for switch in SWITCHES:
                port = pods.all[mode, switch].pod.plan
                node.ovn.wait_for_claim(port.id)
                node.ovn.wait_until_wired(port)


def traffic(facts, pods):
    for way, (source, target) in pods.ways.items():
        for family in FAMILIES:
            for kind, send in KINDS.items():
                with facts.fact(f"{kind} {way}, IPv{family}", basis=True):
                    send(source, target, family)


def access_lists(facts, node, pods):
    source, target = pods.ways["across the router"]
    match = f'outport == "{target.pod.plan.id}" && (tcp.dst == {DENIED_PORT} || udp.dst == {DENIED_PORT})'
    rule = ("switch2", "to-lport", "1000", match)
    for family in FAMILIES:
        with facts.fact(f"without an ACL both ports are reached, IPv{family}"):
            for port in (PORT, DENIED_PORT):
                exchange.tcp(source, target, family, port)
                exchange.udp(source, target, family, port)
    node.ovn.nbctl("acl-add", *rule, "drop")
    node.ovn.wait_for_rules()
    for family in FAMILIES:
        with facts.fact(f"an ACL drops the TCP that it names, IPv{family}"):
            drops_tcp(source, target, family)
        with facts.fact(f"an ACL drops the UDP that it names, IPv{family}"):
            drops_udp(source, target, family)
        with facts.fact(f"an ACL drops nothing else, IPv{family}"):
            for send in KINDS.values():
                send(source, target, family)
            exchange.tcp(target, source, family, DENIED_PORT)
    node.ovn.nbctl("acl-del", *rule)
    node.ovn.wait_for_rules()
    with facts.fact("without it they pass again"):
        for family in FAMILIES:
            exchange.tcp(source, target, family, DENIED_PORT)
            exchange.udp(source, target, family, DENIED_PORT)


def drops_tcp(source, target, family, denied=DENIED_PORT, allowed=PORT):
    """Data that was sent later on this way has arrived, and the connection has not."""
    with exchange.server_in(target, family, socket.SOCK_STREAM, denied) as server, \
            exchange.socket_in(source, family, socket.SOCK_STREAM) as client:
        client.setblocking(False)
        client.connect_ex((target.pod.plan.address(family), denied))
        exchange.tcp(source, target, family, allowed)
        server.setblocking(False)
        try:
            server.accept()
        except BlockingIOError:
            return
    raise AssertionError("it is connected")


def drops_udp(source, target, family):
    with exchange.server_in(target, family, socket.SOCK_DGRAM, DENIED_PORT) as server, \
            exchange.socket_in(source, family, socket.SOCK_DGRAM) as client:
        client.sendto(b"denied", (target.pod.plan.address(family), DENIED_PORT))
        exchange.udp(source, target, family)
        server.setblocking(False)
        try:
            server.recv(100)
        except BlockingIOError:
            return
    raise AssertionError("it has arrived")


def removal(facts, node, pods, before):
    for mode in MODES:
        with facts.fact(f"{mode}: DEL releases the claims"):
            for switch in SWITCHES:
                made = pods.all[mode, switch]
                made.delete().silent()
                node.ovn.wait_for_release(made.pod.plan.id)
    with facts.fact("nothing is left on the node"):
        node.expect_only(before)
        node.stop()
