"""Security groups let in what a rule names, and no more."""
import contextlib
import socket
from pathlib import Path
from subprocess import CalledProcessError

from harness.namespaces import network
from harness.process import run
from neutron.network import WEB_PORT
from ovn import exchange
from ovn.exchange import FAMILIES, KINDS
from ovn.node import AGENT, MODES

OTHER_PORT = 81


def check(facts, pods):
    client = pods.all[AGENT]
    for mode in MODES:
        with facts.fact(f"{mode}: a port whose group lets TCP {WEB_PORT} in", basis=True):
            _, server, _ = pods.plug(pods.network.web, mode)
        for family in FAMILIES:
            with facts.fact(f"{mode}: TCP {WEB_PORT} goes in, IPv{family}"):
                exchange.tcp(client, server, family, WEB_PORT)
            with facts.fact(f"{mode}: other TCP, UDP, and ping do not, IPv{family}"):
                drops_others(client, server, family)
        with facts.fact(f"{mode}: what the pod begins itself goes out, and its answers come in"):
            for family in FAMILIES:
                for send in KINDS.values():
                    send(server, client, family)
        if mode == MODES[-1]:
            with facts.fact("a rule more, and the rest goes in as well"):
                rules = pods.network.let_in(pods.network.web)
                pods.node.ovn.wait_for_rules()
                for family in FAMILIES:
                    exchange.tcp(client, server, family, OTHER_PORT)
                    exchange.udp(client, server, family)
                    exchange.ping(client, server, family)
            with facts.fact("the rule taken away, and it does not any more"):
                for rule in rules:
                    pods.neutron.delete("security_group_rule", rule)
                pods.node.ovn.wait_for_rules()
                for family in FAMILIES:
                    drops_others(client, server, family)
        with facts.fact(f"{mode}: the port of the group is DOWN after DEL"):
            server.delete().silent()
            pods.neutron.wait_for_status(server.pod.plan.id, "DOWN", 30)


def drops_others(client, server, family):
    """Data that was sent later on this way has arrived, and these have not."""
    address = server.pod.plan.address(family)
    pings = echo_requests(server, family)
    with exchange.server_in(server, family, socket.SOCK_STREAM, OTHER_PORT) as tcp, \
            exchange.server_in(server, family, socket.SOCK_DGRAM, OTHER_PORT) as udp, \
            exchange.socket_in(client, family, socket.SOCK_STREAM) as caller, \
            exchange.socket_in(client, family, socket.SOCK_DGRAM) as sender:
        caller.setblocking(False)
        caller.connect_ex((address, OTHER_PORT))
        sender.sendto(b"denied", (address, OTHER_PORT))
        with network(client.netns_path), contextlib.suppress(CalledProcessError):
            run("ping", f"-{family}", "-n", "-q", "-c", "1", "-W", "0.1", address)
        exchange.tcp(client, server, family, WEB_PORT)
        tcp.setblocking(False)
        udp.setblocking(False)
        for receive, what in ((tcp.accept, "TCP"), (lambda: udp.recv(100), "UDP")):
            with contextlib.suppress(BlockingIOError):
                raise AssertionError(f"{what} has arrived: {receive()}")
    assert echo_requests(server, family) == pings, "a ping has arrived"


def echo_requests(pod, family):
    """Echo requests that have arrived in the pod so far."""
    with network(pod.netns_path):
        if family == 6:
            lines = Path("/proc/thread-self/net/snmp6").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("Icmp6InEchos "))
        names, values = (line.split() for line in Path("/proc/thread-self/net/snmp").read_text().splitlines()
                         if line.startswith("Icmp:"))
        return int(values[names.index("InEchos")])
