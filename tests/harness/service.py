"""Services that tell a service manager when they are ready."""
import os
import socket
import subprocess
from pathlib import Path

READY_SECONDS = 120


def started(command, address, env=None, start=subprocess.Popen, **options):
    """The process, once it is ready. address: the path of a new socket, by which it says so; env: variables beside this
    process's; start: Popen, or a Host's; options are Popen's."""
    Path(address).unlink(missing_ok=True)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready:
        ready.bind(str(address))
        ready.settimeout(READY_SECONDS)
        process = start(command, env={**os.environ, **(env or {}), "NOTIFY_SOCKET": str(address)}, **options)
        while b"READY=1" not in ready.recv(4096):
            pass
    return process
