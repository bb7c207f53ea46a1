"""Rights that systemd's sandbox leaves a process, as the kernel tells."""
import errno
import os
from pathlib import Path

from agent.systemd_node import DATA_FOLDERS, SERVICE, main_pid, properties
from harness.expectation import nothing
from harness.kuryr_daemon import CAPABILITIES, check_capabilities
from harness.process import run

# Folders that other processes of the node can write, so that it is the sandbox that refuses.
OTHERS = ("/etc", "/usr/sbin", *DATA_FOLDERS)
OWN = ("/run/kuryr", "/var/log/kuryr")
WRITABLE = ("/run", "/var/log/kuryr", "/proc", "/sys", "/tmp", "/var/tmp", "/dev/pts", "/dev/shm")


def state(fact):
    """The facts; fact is Facts.fact."""
    pid = main_pid()
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    root = Path(f"/proc/{pid}/root")
    with fact(f"its capabilities are {', '.join(CAPABILITIES)} and it gets no others"):
        unit = [" ".join(f"cap_{name}" for name in CAPABILITIES), "yes"]
        assert properties(SERVICE, "CapabilityBoundingSet", "NoNewPrivileges") == unit, "not by its unit"
        check_capabilities(pid)
    with fact("its system calls are filtered"):
        assert status["Seccomp"] == "2", status["Seccomp"]
    with fact("it can write below /run and /var/log/kuryr, and nowhere else on the node"):
        for folder in OTHERS:
            assert try_to_write(Path(folder)) is None, f"{folder} is read-only for everybody"
        refused = {folder: try_to_write(root / folder[1:]) for folder in (*OTHERS, *OWN)}
        wanted = {**dict.fromkeys(OTHERS, errno.EROFS), **dict.fromkeys(OWN)}
        assert refused == wanted, refused
        nothing([mount for mount in writable_mounts(pid) if not mount.startswith(WRITABLE)], "mounts are writable")
    with fact("it has a /tmp and a /dev of its own"):
        Path("/tmp/of-the-node").touch()
        assert not (root / "tmp/of-the-node").exists(), "it sees the node's /tmp"
        nothing(set(os.listdir(root / "dev")) & {"kmsg", "mem", "tty0"}, "devices")
    with fact("what is mounted later it sees, too"):
        Path("/run/late").mkdir()
        run("mount -t tmpfs late /run/late")
        Path("/run/late/file").touch()
        assert (root / "run/late/file").exists(), "it does not"
        run("umount /run/late")
        assert " /run/late " not in Path(f"/proc/{pid}/mountinfo").read_text(), "it has that still when the node has not"


def try_to_write(folder):
    """None, or what the kernel says against it."""
    try:
        (folder / "written").write_text("")
        (folder / "written").unlink()
    except OSError as error:
        return error.errno
    return None


def writable_mounts(pid):
    for line in Path(f"/proc/{pid}/mountinfo").read_text().splitlines():
        fields = line.split()
        if "rw" in fields[5].split(","):
            yield fields[4]
