#!/usr/bin/python3
"""TCP from one network namespace to another.

As a program: `flow.py receive PORT SKIP BYTES` accepts a connection, reads SKIP bytes and then times BYTES more; prints
"listening", and at last the bits per second. `flow.py send ADDRESS PORT` sends until the receiver has enough."""
import socket
import subprocess
import sys
import time


def flow(sender, receiver, address, port, listen_port=None, skip=0, size=1):
    """Bits per second. `sender`, `receiver`: paths of namespaces; `address`, `port`: what the sender connects to."""
    numbers = [str(number) for number in (listen_port or port, skip, size)]
    with subprocess.Popen(["nsenter", f"--net={receiver}", sys.executable, __file__, "receive", *numbers],
                          stdout=subprocess.PIPE, text=True) as listener:
        try:
            listener.stdout.readline()
            subprocess.run(["nsenter", f"--net={sender}", sys.executable, __file__, "send", address, str(port)],
                           check=True, text=True, capture_output=True)
            return int(listener.stdout.readline())
        finally:
            listener.kill()


def _read(connection, size):
    while size > 0:
        received = connection.recv(min(size, 1 << 16))
        if not received:
            sys.exit("the sender went away")
        size -= len(received)


def _receive(port, skip, size):
    listener = socket.create_server(("", port))
    print("listening", flush=True)
    connection, _ = listener.accept()
    _read(connection, skip)
    began = time.monotonic()
    _read(connection, size)
    print(int(size * 8 / (time.monotonic() - began)))


def _send(address, port):
    try:
        connection = socket.create_connection((address, port), timeout=20)
    except OSError as error:
        sys.exit(f"{address}:{port}: {error}")
    with connection:
        try:
            while True:
                connection.sendall(bytes(1 << 16))
        except (BrokenPipeError, ConnectionResetError):
            pass


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        _receive(*map(int, sys.argv[2:]))
    else:
        _send(sys.argv[2], int(sys.argv[3]))
