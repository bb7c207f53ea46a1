"""What a run of tests/bench/report was made on, and of."""
import datetime
import os
import subprocess
from pathlib import Path

from harness.kube_api import find_programs
from harness.open_vswitch import KERNEL_DATAPATH
from harness.process import REPOSITORY

IDLE_LOAD = 0.5
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"


def said_by(*command):
    """The first line; nothing where there is no such program."""
    try:
        found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=REPOSITORY, env={**os.environ, "PATH": PATH})
    except (OSError, subprocess.CalledProcessError):
        return ""
    return found.stdout.partition("\n")[0].strip()


def version_of(*command):
    """The last word of a program's first line, such as "ovs-vswitchd (Open vSwitch) 3.1.0"."""
    return said_by(*command).rpartition(" ")[2].removeprefix("v")


def memory_mib():
    kib = Path("/proc/meminfo").read_text().split("MemTotal:")[1].split()[0]
    return int(kib) // 1024


def machine():
    programs, _ = find_programs()
    return {"processors": os.cpu_count(), "memory_mib": memory_mib(), "debian": Path("/etc/debian_version").read_text().strip(),
            "kernel": os.uname().release.partition("-")[0], "open_vswitch": version_of("ovs-vswitchd", "--version"),
            "datapath": "kernel" if KERNEL_DATAPATH else "userspace",
            "kubernetes": version_of(f"{programs}/kube-apiserver", "--version"), "ovn": version_of("ovn-northd", "--version"),
            "bridge_plugin": said_by("dpkg-query", "-W", "-f", "${Version}", "containernetworking-plugins")}


def head():
    """Of the JSON. Warnings say what makes its figures doubtful."""
    load, changed = os.getloadavg()[0], said_by("git", "status", "--porcelain", "--untracked-files=no")
    warnings = [f"load average {load:.1f} at the start"] if load > IDLE_LOAD else []
    warnings += ["the tree had changes that are in no commit"] if changed else []
    return {"date": datetime.date.today().isoformat(), "commit": said_by("git", "rev-parse", "--short=8", "HEAD"),
            "warnings": warnings, "machine": machine()}
