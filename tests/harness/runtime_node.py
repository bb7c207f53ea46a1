"""A node that container runtimes can live on: with /etc, /opt, /var and cgroups of its own, too. Nothing of it outlives its
first process."""
import contextlib
import os
import select
import tempfile
from pathlib import Path
from subprocess import CalledProcessError

from harness import namespaces
from harness.host import HERE
from harness.namespaces import WORK
from harness.process import run
from harness.report import Skipped

# Commands that work on a machine which has what suites may need.
CGROUPS = ["test -e /sys/fs/cgroup/cgroup.procs"]
SHAPING = ["ip link add ifb-try type ifb", "tc qdisc add dev ifb-try root tbf rate 1mbit burst 9000 latency 25ms",
           "tc qdisc add dev ifb-try ingress", "ip link delete ifb-try"]
PACKET_FILTER = ["iptables --table nat --new-chain try", "iptables --table nat --delete-chain try"]
OVERLAY = ["mkdir -p /var/tmp/try/lower /var/tmp/try/upper /var/tmp/try/work /var/tmp/try/all",
           "mount -t overlay -o lowerdir=/var/tmp/try/lower,upperdir=/var/tmp/try/upper,workdir=/var/tmp/try/work overlay /var/tmp/try/all",
           "umount /var/tmp/try/all"]
END_SECONDS = 30
# Whatever packages put in the last two folders, a node's networks are its own.
MAKE_FOLDERS = """
etc=$(mktemp --directory --tmpdir="$1")
mount -t tmpfs tmpfs "$etc"
cp -a /etc/. "$etc"
mount --move "$etc" /etc
rmdir "$etc"
for folder in /opt /var/lib /var/log /var/tmp /dev/shm; do
  mkdir -p "$folder"
  mount -t tmpfs tmpfs "$folder"
done
mkdir -p /run/tmp /run/home /opt/cni/bin /var/lib/cni
rm -rf /etc/cni /etc/containerd
"""
# Not over itself: the kernel refuses that. The root is the cgroup that _new_cgroup() made.
MOUNT_CGROUPS = "mount -t tmpfs tmpfs /sys/fs/cgroup && mount -t cgroup2 cgroup2 /sys/fs/cgroup"


def need(commands):
    """Skips when one of these fails: the machine lacks what they use."""
    for command in commands:
        try:
            run(command)
        except CalledProcessError as lacking:
            raise Skipped(f"{command}: {lacking.stderr.strip() or lacking.returncode}") from lacking


def result_of(function, programs=None):
    """The bytes that function() returns, as the first process of such a node. programs: {name: file}, of which WORK has copies.
    The working directory stays."""
    copies = {name: Path(file).read_bytes() for name, file in (programs or {}).items()}

    def live():
        _mount_folders(HERE)
        os.environ.update(HOME="/run/home", TMPDIR="/run/tmp", XDG_RUNTIME_DIR="/run")
        if cgroup:
            run("sh", "-euc", MOUNT_CGROUPS)
            _leave_root()
        for name, content in copies.items():
            (WORK / name).write_bytes(content)
            (WORK / name).chmod(0o755)
        return function()

    with _new_cgroup() as cgroup:
        return namespaces.result_of(live, cgroup)


@contextlib.contextmanager
def _new_cgroup():
    """Its folder; None where the machine has no cgroup2."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    root = next((mount[1] for mount in mounts if mount[2] == "cgroup2"), None)
    if not root:
        yield None
        return
    cgroup = Path(tempfile.mkdtemp(prefix="kuryr-runtimes-", dir=root))
    try:
        yield cgroup
    finally:
        _wait_until_empty(cgroup)
        run("find", cgroup, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";")


def _wait_until_empty(cgroup):
    """Its processes end with the first one, but not at the same moment."""
    with open(cgroup / "cgroup.events", encoding="utf-8") as events:
        changes = select.poll()
        changes.register(events, select.POLLPRI)
        while "populated 1" in events.read():
            assert changes.poll(END_SECONDS * 1000), f"processes are left in {cgroup}"
            events.seek(0)


def make_runtime_host(host):
    """Gives a host of a segment, in the namespaces of such a node, what that node has: folders of its own, and cgroups."""
    _mount_folders(host)
    host.run("sh", "-euc", MOUNT_CGROUPS)


def _mount_folders(host):
    host.run("sh", "-euc", MAKE_FOLDERS, "sh", host.work)


def _leave_root():
    """No process may stay in the root, else runtimes could not hand controllers down."""
    own = Path("/sys/fs/cgroup/node")
    own.mkdir()
    (own / "cgroup.procs").write_text("0")
