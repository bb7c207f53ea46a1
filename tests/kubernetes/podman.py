"""Podman's options on a node without overlayfs and systemd, such as docs/runtimes.md's."""
from pathlib import Path

CONFIGURATION = {
    "containers.conf": '[containers]\ncgroups = "disabled"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
    "storage.conf": '[storage]\ndriver = "vfs"\ngraphroot = "/var/lib/containers/storage"\nrunroot = "/run/containers/storage"\n'}


def set_up():
    for name, text in CONFIGURATION.items():
        Path("/etc/containers", name).write_text(text)
