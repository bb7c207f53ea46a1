"""What differs between releases of containerd, for a node of the tests: its configuration, and whether it asks plugins for STATUS."""
import functools
import re
from pathlib import Path

from harness.process import REPOSITORY, run

# On small machines, as in docs/runtimes.md.
VERSION_2 = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{sandbox}"
  disable_cgroup = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "{snapshotter}"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
"""
VERSION_3 = """version = 3
[plugins."io.containerd.cri.v1.images"]
  snapshotter = "{snapshotter}"
  pinned_images = {{sandbox = "{sandbox}"}}
[plugins."io.containerd.cri.v1.runtime"]
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"
    options = {{BinaryName = "{runc}"}}
  [plugins."io.containerd.cri.v1.runtime".cni]
    bin_dirs = ["{plugins}"]
    conf_dir = "/etc/cni/net.d"
"""
SANDBOX = "localhost/busybox:1"


@functools.cache
def version():
    """containerd's, such as (1, 6, 20)."""
    return _version("containerd")


def said():
    """The versions of containerd and runc, in words."""
    return ", ".join(f"{name} {'.'.join(map(str, _version(name)))}" for name in ("containerd", "runc"))


def configuration(snapshotter, packaged=""):
    """packaged: the package's own, which then has all but what small machines need. containerd 2 loses the snapshotter of such a file,
    so of its options it only has the folder of plugins there."""
    plugins = re.search(r'bin_dir = "(.*)"', packaged)
    form = VERSION_3 if version() >= (2,) else VERSION_2
    own = form.format(snapshotter=snapshotter, sandbox=SANDBOX, runc=_runc(), plugins=plugins[1] if plugins else "/opt/cni/bin")
    section = '[plugins."io.containerd.grpc.v1.cri"]\n'
    if packaged.count(section) != 1 or section not in own:
        return own
    return packaged.replace(section, section + own.split(section)[1].split('  [plugins."io.containerd.grpc.v1.cri".cni]')[0])


def asks_for_status():
    """As libcni does from 1.2 on."""
    return version() >= (2,)


def _runc():
    """Version 2 has no disable_cgroup any more."""
    has_controllers = Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    return "runc" if has_controllers else f"{REPOSITORY}/tests/kubernetes/runc-without-limits"


def _version(program):
    return tuple(map(int, re.search(r"(\d+)\.(\d+)\.(\d+)", run(program, "--version")).groups()))
