"""Ping, TCP and UDP with data, from one pod to another and back."""
import os
import select
import socket
import threading
import time

from harness.namespaces import network
from harness.process import run
from ovn.central import EVENT_SECONDS

FAMILIES = {4: socket.AF_INET, 6: socket.AF_INET6}
ANY = {4: "0.0.0.0", 6: "::"}
PORT = 8080
TCP_BYTES = 300_000
UDP_BYTES = (1, 100, 1300)
AGAIN_SECONDS = 0.5


def socket_in(pod, family, kind):
    with network(pod.netns_path):
        made = socket.socket(FAMILIES[family], kind)
    made.settimeout(EVENT_SECONDS)
    return made


def server_in(pod, family, kind, port):
    made = socket_in(pod, family, kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.bind((ANY[family], port))
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def ping(source, target, family):
    """Until one is answered."""
    with network(source.netns_path):
        run("ping", f"-{family}", "-n", "-q", "-i", "0.2", "-c", "1", "-w", str(EVENT_SECONDS), target.pod.plan.address(family))


def ping_once(source, target, family):
    """One is sent, and has to be answered."""
    with network(source.netns_path):
        run("ping", f"-{family}", "-n", "-q", "-c", "1", "-W", str(EVENT_SECONDS), target.pod.plan.address(family))


def read_all(connection):
    return b"".join(iter(lambda: connection.recv(65536), b""))


def tcp(source, target, family, port=PORT, by=None):
    """Sends data there and back, and compares it. by: the source connects to this address and port, which lead to the target."""
    data = os.urandom(TCP_BYTES)
    with server_in(target, family, socket.SOCK_STREAM, port) as server, \
            socket_in(source, family, socket.SOCK_STREAM) as client:
        client.connect(by or (target.pod.plan.address(family), port))
        connection = server.accept()[0]
        with connection:
            connection.settimeout(EVENT_SECONDS)
            assert transfer(client, connection, data) == data, "what arrived is not what was sent"
            assert transfer(connection, client, data) == data, "what came back is not what was sent"


def transfer(sender, receiver, data):
    def send():
        sender.sendall(data)
        sender.shutdown(socket.SHUT_WR)

    thread = threading.Thread(target=send)
    thread.start()
    try:
        return read_all(receiver)
    finally:
        thread.join()


def udp(source, target, family, port=PORT):
    """Each datagram comes back; one that was lost is sent again."""
    with server_in(target, family, socket.SOCK_DGRAM, port) as server, \
            socket_in(source, family, socket.SOCK_DGRAM) as client:
        client.connect((target.pod.plan.address(family), port))
        for size in UDP_BYTES:
            echo(client, server, os.urandom(size))


def echo(client, server, data):
    deadline = time.monotonic() + EVENT_SECONDS
    due = 0.0
    while time.monotonic() < deadline:
        if time.monotonic() >= due:
            client.send(data)
            due = time.monotonic() + AGAIN_SECONDS
        readable, _, _ = select.select([client, server], [], [], max(0.0, due - time.monotonic()))
        if server in readable:
            server.sendto(*server.recvfrom(65536))
        if client in readable and client.recv(65536) == data:
            return
    raise AssertionError(f"a datagram of {len(data)} bytes does not come back")


KINDS = {"ping": ping, "TCP": tcp, "UDP": udp}
