"""echo.py serve ADDRESS | ask ADDRESS: 200 kB over TCP and a datagram of 4 kB, there and back, compared."""
import socket
import sys

PORT = 4712
STREAM = bytes(range(250)) * 800
DATAGRAM = STREAM[:4000]
what, address = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
socket.setdefaulttimeout(30)


def receive(connection):
    data = b""
    while len(data) < len(STREAM):
        more = connection.recv(65536)
        if not more:
            sys.exit("the connection ended early")
        data += more
    return data


datagrams = socket.socket(family, socket.SOCK_DGRAM)
if what == "serve":
    datagrams.bind((address, PORT))
    listener = socket.create_server((address, PORT), family=family)
    print("ready", flush=True)
    connection, _ = listener.accept()
    connection.sendall(receive(connection))
    datagrams.sendto(*datagrams.recvfrom(65536))
else:
    with socket.create_connection((address, PORT)) as connection:
        connection.sendall(STREAM)
        assert receive(connection) == STREAM
    datagrams.connect((address, PORT))
    datagrams.send(DATAGRAM)
    assert datagrams.recv(65536) == DATAGRAM
    print("200 kB by TCP and 4 kB by UDP there and back")
