"""Data from one network namespace arrives in another as it was sent."""
import os
import socket
from concurrent.futures import ThreadPoolExecutor

from harness import namespaces
from harness.traffic import END_SECONDS, PORT

STREAM, DATAGRAM, DATAGRAMS = 1 << 20, 1400, 10
# Of linux/in.h and linux/in6.h: datagrams that are larger than the path takes are refused, not fragmented.
IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, PMTUDISC_DO = 10, 23, 2


def check_tcp(sender, receiver, address, size=STREAM):
    """sender, receiver: paths of namespaces; address: the receiver's. The address that the receiver saw."""
    data = os.urandom(size)
    with namespaces.network(receiver):
        listener = socket.create_server((address, PORT), family=_family(address))
    with listener, namespaces.network(sender):
        source = socket.create_connection((address, PORT), timeout=END_SECONDS)
        sink, seen = listener.accept()
    with sink, ThreadPoolExecutor(1) as work:
        work.submit(_send, source, data)
        sink.settimeout(END_SECONDS)
        arrived = b"".join(iter(lambda: sink.recv(1 << 16), b""))
    assert arrived == data, f"of {len(data)} bytes sent to {address} by TCP {len(arrived)} arrived, or others"
    return seen[0]


def _send(source, data):
    with source:
        source.sendall(data)


def check_udp(sender, receiver, address, datagram=DATAGRAM, size=DATAGRAM * DATAGRAMS):
    """datagram: bytes in each; size: bytes in all."""
    family = _family(address)
    with namespaces.network(receiver):
        sink = socket.socket(family, socket.SOCK_DGRAM)
    with sink, namespaces.network(sender):
        source = socket.socket(family, socket.SOCK_DGRAM)
        sink.bind((address, PORT))
        sink.settimeout(END_SECONDS)
        with source:
            _forbid_fragments(source)
            for _ in range(-(-size // datagram)):
                data = os.urandom(datagram)
                source.sendto(data, (address, PORT))
                assert sink.recv(datagram + 1) == data, f"another datagram arrived at {address}"


def _forbid_fragments(source):
    if source.family == socket.AF_INET6:
        source.setsockopt(socket.IPPROTO_IPV6, IPV6_MTU_DISCOVER, PMTUDISC_DO)
    else:
        source.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, PMTUDISC_DO)


def _family(address):
    return socket.AF_INET6 if ":" in address else socket.AF_INET
