"""kuryr-cni's image, by etc/kubernetes/Containerfile. Its base is not downloaded: what the image uses of debian:12-slim, a
shell and coreutils, is this machine's, which is a Debian 12, too."""
import io
import re
import tarfile
from pathlib import Path

from harness import namespaces
from harness.process import run

WORK = namespaces.WORK / "image"
BASE_PACKAGES = ("dash", "coreutils")
# What the DaemonSet's kuryr-cni:latest stands for.
NAME = "docker.io/library/kuryr-cni:latest"


def build(packed_base):
    """An archive with the image."""
    WORK.mkdir()
    (WORK / "base.tar").write_bytes(packed_base)
    # As docs/runtimes.md's containerd: no overlayfs.
    podman = ["podman", "--storage-driver=vfs", "--cgroup-manager=cgroupfs", "--events-backend=none"]
    base = re.search(r"^FROM (\S+)$", Path("etc/kubernetes/Containerfile").read_text(), re.MULTILINE)[1]
    run(*podman, "import", WORK / "base.tar", base)
    run(*podman, "build", "--pull=never", "-f", "etc/kubernetes/Containerfile", "-t", NAME, ".")
    run(*podman, "save", "--quiet", "--output", WORK / "image.tar", NAME)
    return WORK / "image.tar"


def pack_base():
    """To be asked for before the node hides the machine's list of packages."""
    packed = io.BytesIO()
    # With the merged /usr of Debian 12, whatever name a file was found by.
    files = {re.sub(r"^/(bin|lib|lib64)/", r"/usr/\1/", file): file
             for program in programs() for file in (program, *libraries(program))}
    with tarfile.open(fileobj=packed, mode="w", dereference=True) as tar:
        for folder in ("dev", "etc", "proc", "run", "sys", "tmp", "usr", "var"):
            add(tar, folder, type=tarfile.DIRTYPE)
        for name in ("bin", "lib", "lib64"):
            add(tar, name, type=tarfile.SYMTYPE, linkname=f"usr/{name}")
        add(tar, "var/run", type=tarfile.SYMTYPE, linkname="/run")
        for name, file in sorted(files.items()):
            tar.add(file, name[1:])
    return packed.getvalue()


def add(tar, name, **fields):
    entry = tarfile.TarInfo(name)
    entry.mode = 0o755
    for field, value in fields.items():
        setattr(entry, field, value)
    tar.addfile(entry)


def programs():
    for package in BASE_PACKAGES:
        yield from re.findall(r"^(?:/usr)?/bin/[\w\[]+$", run(f"dpkg-query --listfiles {package}"), re.MULTILINE)


def libraries(program):
    """What a program is linked with, the loader among them."""
    return re.findall(r"(/\S+) \(0x", run("ldd", program))
