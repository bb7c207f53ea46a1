"""One look at which pods reach which, by UDP and TCP, over both families."""
import select
import socket
import struct
import time

from harness.namespaces import network
from ovn.exchange import ANY, FAMILIES

KINDS = {"TCP": socket.SOCK_STREAM, "UDP": socket.SOCK_DGRAM}
# How long a way that is wanted may take, and what is not wanted is waited for after the last wanted one.
WANTED_SECONDS, QUIET_SECONDS = 1.0, 0.2
BACKLOG = 512
# A reset at the close: no state is left.
LINGER = struct.pack("ii", 1, 0)


class Packets:
    def __init__(self, pods, ports):
        """pods: {name: (path of its network namespace, {family: address})}; ports: {protocol: numbers}."""
        self.pods, self.ports, self.look = pods, ports, 0
        self.names = list(pods)
        self.servers = {}
        for name, (path, _) in pods.items():
            with network(path):
                for family, protocol, port in self.kinds():
                    self.servers[self.listen(family, protocol, port)] = (name, family, protocol, port)

    def kinds(self):
        return [(family, protocol, port) for family in FAMILIES for protocol, ports in self.ports.items() for port in ports]

    @staticmethod
    def listen(family, protocol, port):
        made = socket.socket(FAMILIES[family], KINDS[protocol])
        if family == 6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.setblocking(False)
        made.bind((ANY[family], port))
        if protocol == "TCP":
            made.listen(BACKLOG)
        return made

    def try_all(self, wanted):
        """{(source, target, family, protocol, port)} that were found. wanted: those to wait for."""
        self.look += 1
        found, connections, senders = set(), {}, []
        for source, (path, _) in self.pods.items():
            with network(path):
                for family in FAMILIES:
                    senders.append(self.send_datagrams(source, family))
                    connections |= self.connect_all(source, family)
        self.collect(wanted, found, connections)
        for each in (*senders, *connections):
            each.close()
        return found

    def targets(self, source, family):
        return [(name, addresses[family]) for name, (_, addresses) in self.pods.items() if name != source]

    def send_datagrams(self, source, family):
        sender = socket.socket(FAMILIES[family], socket.SOCK_DGRAM)
        sender.setblocking(False)
        content = f"{self.look} {source}".encode()
        for _, address in self.targets(source, family):
            for port in self.ports["UDP"]:
                sender.sendto(content, (address, port))
        return sender

    def connect_all(self, source, family):
        """{connection: its way}"""
        made = {}
        for target, address in self.targets(source, family):
            for port in self.ports["TCP"]:
                connection = socket.socket(FAMILIES[family], socket.SOCK_STREAM)
                connection.setblocking(False)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER)
                connection.connect_ex((address, port))
                made[connection] = (source, target, family, "TCP", port)
        return made

    def collect(self, wanted, found, connections):
        poll = select.poll()
        by_number = {}
        for server in self.servers:
            by_number[server.fileno()] = server
            poll.register(server, select.POLLIN)
        for connection in connections:
            by_number[connection.fileno()] = connection
            poll.register(connection, select.POLLOUT)
        deadline, is_whole = time.monotonic() + WANTED_SECONDS, False
        while (left := deadline - time.monotonic()) > 0:
            for number, _ in poll.poll(1000 * min(left, QUIET_SECONDS)):
                each = by_number[number]
                if each in connections:
                    poll.unregister(number)
                    if not each.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                        found.add(connections[each])
                else:
                    self.receive(each, found)
            if not is_whole and wanted <= found:
                deadline, is_whole = time.monotonic() + QUIET_SECONDS, True

    def receive(self, server, found):
        target, family, protocol, port = self.servers[server]
        try:
            while True:
                if protocol == "TCP":
                    server.accept()[0].close()
                    continue
                look, source = server.recv(100).decode().split()
                if int(look) == self.look:
                    found.add((source, target, family, protocol, port))
        except BlockingIOError:
            return

    def close(self):
        for server in self.servers:
            server.close()
