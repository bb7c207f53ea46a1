"""The image of etc/kubernetes/ovn.Containerfile, built on an image of programs that are here, which stands for Debian's: its apt-get
installs nothing."""
import os
from pathlib import Path

from harness.container_image import write_archive
from harness.process import run
from kubernetes import podman

CONTAINERFILE = Path("etc/kubernetes/ovn.Containerfile")
IMAGE = "docker.io/library/kuryr-ovn:0.1.0"
PROGRAMS = ("/bin/bash", "/usr/bin/curl", "/usr/bin/ovs-appctl", "/usr/bin/ovsdb-client", "/usr/bin/ovsdb-tool", "/usr/sbin/ovsdb-server",
            *(f"/usr/bin/ovn-{name}" for name in ("controller", "nbctl", "northd", "sbctl", "trace")))
SCHEMAS = [f"/usr/share/ovn/ovn-{name}.ovsschema" for name in ("nb", "sb")]


def build(folder, command, layer):
    """An archive of the image, in that folder, on a node of harness.runtime_node. command: docs/ovn.md's, which builds it; layer: of
    the machine or the root whose OVN it gets."""
    podman.set_up()
    base, archive = folder / "debian.tar", folder / "kuryr-ovn.tar"
    _pack_base(base, layer)
    run("podman", "load", "--input", base)
    # A container of its own would need a network for RUN.
    run(command, env={**os.environ, "BUILDAH_ISOLATION": "chroot"})
    archive.unlink(missing_ok=True)
    run("podman", "save", "--output", archive, IMAGE)
    return archive


def _pack_base(file, layer):
    (name,) = [line.split()[1] for line in CONTAINERFILE.read_text().splitlines() if line.startswith("FROM ")]
    for program in PROGRAMS:
        layer.add_program(program)
    for schema in SCHEMAS:
        layer.add_text(schema, layer.content(schema).decode())
    layer.add_program("/bin/busybox")
    layer.add_links("busybox", *(f"/bin/{applet}" for applet in run("/bin/busybox --list").split()))
    layer.add_links("/run", "/var/run")
    layer.add_text("/usr/bin/apt-get", "#!/bin/sh\n")
    write_archive(file, layer, {name: {}})
