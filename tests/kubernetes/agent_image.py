"""What podman needs for kuryr-cni's image. Its base is not downloaded: what the image uses of debian:12-slim, a shell and
coreutils, is this machine's, which is a Debian 12, too."""
import io
import re
import tarfile
from pathlib import Path

from harness import namespaces
from harness.process import run

BASE_PACKAGES = ("dash", "coreutils")
# As docs/runtimes.md's podman: no overlayfs, no systemd.
CONFIGURATION = {
    "containers.conf": '[containers]\ncgroups = "disabled"\n[engine]\ncgroup_manager = "cgroupfs"\nevents_logger = "none"\n',
    "storage.conf": '[storage]\ndriver = "vfs"\ngraphroot = "/var/lib/containers/storage"\nrunroot = "/run/containers/storage"\n'}


def set_up_podman(packed_base):
    """With the base that the Containerfile names."""
    for name, text in CONFIGURATION.items():
        Path("/etc/containers", name).write_text(text)
    archive = namespaces.WORK / "base.tar"
    archive.write_bytes(packed_base)
    base = re.search(r"^FROM (\S+)$", Path("etc/kubernetes/Containerfile").read_text(), re.MULTILINE)[1]
    run("podman", "import", archive, base)


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
