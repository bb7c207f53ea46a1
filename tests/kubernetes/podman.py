"""Podman's options on a node without overlayfs and systemd, such as docs/runtimes.md's."""
from pathlib import Path

# podman 5 wants more processes and files than such a node allows.
CONFIGURATION = {
    "containers.conf": '[containers]\ncgroups = "disabled"\ndefault_ulimits = ["nproc=10000:10000", "nofile=10000:10000"]\n'
                       '[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
    "storage.conf": '[storage]\ndriver = "vfs"\ngraphroot = "/var/lib/containers/storage"\nrunroot = "/run/containers/storage"\n'}


def set_up():
    for name, text in CONFIGURATION.items():
        Path("/etc/containers", name).write_text(text)
