"""Data from one pod's network namespace arrives in another's as it was sent."""
import os
import socket
from concurrent.futures import ThreadPoolExecutor

from harness import namespaces
from harness.traffic import END_SECONDS, PORT

STREAM, DATAGRAM, DATAGRAMS = 1 << 20, 1400, 10


def check_tcp(sender, receiver, address):
    """sender, receiver: paths of namespaces."""
    data = os.urandom(STREAM)
    with namespaces.network(receiver):
        listener = socket.create_server((address, PORT))
    with listener, namespaces.network(sender):
        source = socket.create_connection((address, PORT), timeout=END_SECONDS)
        sink, _ = listener.accept()
    with sink, ThreadPoolExecutor(1) as work:
        work.submit(_send, source, data)
        sink.settimeout(END_SECONDS)
        arrived = b"".join(iter(lambda: sink.recv(1 << 16), b""))
    assert arrived == data, f"of {len(data)} bytes sent to {address} by TCP {len(arrived)} arrived, or others"


def _send(source, data):
    with source:
        source.sendall(data)


def check_udp(sender, receiver, address):
    with namespaces.network(receiver):
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sink, namespaces.network(sender):
        source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sink.bind((address, PORT))
        sink.settimeout(END_SECONDS)
        with source:
            for _ in range(DATAGRAMS):
                data = os.urandom(DATAGRAM)
                source.sendto(data, (address, PORT))
                assert sink.recv(DATAGRAM + 1) == data, f"another datagram arrived at {address}"
