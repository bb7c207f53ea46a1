"""Hosts of nodes: the namespaces of the test itself, and others beside them."""
import itertools
import subprocess
from pathlib import Path

from harness import namespaces
from harness.namespaces import WORK
from harness.process import run

# The link of a host in its segment.
UPLINK = "uplink"
# A new /run has the test's WORK at the same path.
MAKE_MOUNTS = f"""
mkdir -p "$1"/run/netns "$1"/run/lock "$1"/run/{WORK.name}
mount --bind {WORK} "$1"/run/{WORK.name}
mount --rbind "$1"/run /run
mount -t tmpfs tmpfs /var/lib/cni
mount -t sysfs sysfs /sys
hostname "$2"
ip link set lo up
echo ready
exec cat
"""


class Host:
    """Runs a node's programs. All hosts share the test's process namespace, so daemons are children of the test on each."""

    # In its segment.
    address = None

    def __init__(self, name="node1", work=WORK, holder=None):
        """work: a folder for the node's files, which has this path on the host and in the test; holder: a process in the host's
        namespaces, None for those of the test."""
        self.name, self.work, self.holder = name, work, holder
        self.entry = ["nsenter", f"--target={holder.pid}", "--mount", "--net", "--uts", "--ipc", "--"] if holder else []

    def run(self, *words, **options):
        """Runs a program on this host, as harness.process.run does."""
        return run(*words, prefix=self.entry, **options)

    def start(self, command, **options):
        """Starts a process on this host; options are Popen's."""
        return subprocess.Popen([*self.entry, *command], **options)

    def path(self, path):
        """The path by which the test reaches a file of this host."""
        return Path(f"/proc/{self.holder.pid}/root{path}" if self.holder else path)

    @property
    def netns(self):
        """The path of the host's network namespace."""
        return f"/proc/{self.holder.pid if self.holder else 'self'}/ns/net"

    def network(self):
        """A block in which this thread is in the host's network namespace."""
        return namespaces.network(self.netns)

    def stop(self):
        """Ends the host's namespaces, whose programs have ended; those of the test stay."""
        if self.holder:
            # The kernel would end the links later than the namespaces.
            self.run(f"ip link delete {UPLINK}")
            self.holder.communicate()


HERE = Host()


class Segment:
    """A bridge of the test that joins hosts of their own mounts, network, host name and IPC. API servers listen at its address."""

    address, bridge = "192.0.2.1", "segment0"

    def __init__(self):
        self.numbers = itertools.count(2)
        run(f"ip link add {self.bridge} up type bridge")
        run(f"ip address add {self.address}/24 dev {self.bridge}")

    def make_host(self, name):
        """name: its host name, and that of its link in the bridge."""
        work = WORK / name
        holder = subprocess.Popen(["unshare", "--mount", "--net", "--uts", "--ipc", "sh", "-euc", MAKE_MOUNTS, "sh", work, name],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert holder.stdout.readline() == "ready\n", f"{name} has no namespaces"
        host = Host(name, work, holder)
        host.address = f"192.0.2.{next(self.numbers)}"
        run(f"ip link add {name} up master {self.bridge} type veth peer name {UPLINK} netns {holder.pid}")
        host.run(f"ip link set {UPLINK} up")
        host.run(f"ip address add {host.address}/24 dev {UPLINK}")
        return host

    def stop(self):
        """Ends the segment, after its hosts."""
        run("ip", "link", "delete", self.bridge)
