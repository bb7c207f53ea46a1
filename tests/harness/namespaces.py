"""Namespaces of its own for a function: mounts, network, processes, cgroups, IPC, host name; /run and /var/lib/cni empty."""
import contextlib
import ctypes
import os
import signal
import sys
import traceback
from pathlib import Path

from harness.process import run

CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
CLONE_NEWPID, CLONE_NEWNET = 0x20000000, 0x40000000
ALL = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWPID | CLONE_NEWNET
PR_SET_PDEATHSIG = 1
# For the files of whoever lives in them.
WORK = Path("/run/node")
LIBC = ctypes.CDLL(None, use_errno=True)


def need_root(program):
    """For launchers, once: who ends them by SIGTERM finds nothing left behind, either."""
    if os.geteuid() != 0:
        sys.exit(f"{program}: needs root: it makes namespaces")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def call_kernel(name, *arguments):
    if getattr(LIBC, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{name}: {os.strerror(ctypes.get_errno())}")


def start(function, cgroup=None):
    """Runs function() as the first process of new namespaces, below a folder of cgroup2 where one is named. Gives (pid,
    descriptor): the bytes that function() returned, to be read to their end; none where it threw. end(pid) is for the caller."""
    sys.stdout.flush()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _live(function, writer, cgroup)
    os.close(writer)
    return pid, reader


def _live(function, writer, cgroup):
    """The life of the new process, and of its child, the first of the namespaces. Does not return."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setpgid(0, 0)
        call_kernel("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
        if cgroup:
            (cgroup / "cgroup.procs").write_text("0")
        call_kernel("unshare", ALL)
        first = os.fork()
        if first:
            os.close(writer)
            os.waitpid(first, 0)
            return
        call_kernel("prctl", PR_SET_PDEATHSIG, signal.SIGKILL)
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        _make_mounts()
        run("ip link set lo up")
        said = function()
        sys.stdout.flush()
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(said)
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)


def _make_mounts():
    run("mount --make-rprivate /")
    run("mount -t proc proc /proc")
    run("mount -t sysfs sysfs /sys", check=False)
    run("mount -t tmpfs tmpfs /run")
    # The test makes no folder on the machine: without a /var/lib/cni there, it mounts over all of /var/lib.
    run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/cni" if os.path.isdir("/var/lib/cni") else "/var/lib")
    os.makedirs("/var/lib/cni", exist_ok=True)
    for folder in ("/run/netns", "/run/lock", WORK):
        os.mkdir(folder)


def end(pid):
    """The process that waits for the namespaces' first, and that one, whose end is everybody's in there."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def result_of(function, cgroup=None):
    """The bytes that function() returns, as the first process of new namespaces."""
    pid, reader = start(function, cgroup)
    try:
        with os.fdopen(reader, "rb") as pipe:
            return pipe.read()
    finally:
        end(pid)


@contextlib.contextmanager
def network(path):
    """This thread is in that network namespace meanwhile; its new sockets stay there."""
    with open("/proc/thread-self/ns/net", "rb") as home, open(path, "rb") as there:
        call_kernel("setns", there.fileno(), CLONE_NEWNET)
        try:
            yield
        finally:
            call_kernel("setns", home.fileno(), CLONE_NEWNET)
