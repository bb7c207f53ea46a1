"""Programs of another architecture, by qemu."""
import contextlib
import shutil
from pathlib import Path

from harness.process import run
from harness.report import Skipped

# What qemu calls Debian's architectures.
MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}
FORMATS = Path("/proc/sys/fs/binfmt_misc")


def own_architecture():
    return run("dpkg --print-architecture").strip()


def emulator(architecture):
    """Words in front of a program of that architecture."""
    if own_architecture() == architecture:
        return ()
    name = f"qemu-{MACHINES[architecture]}-static"
    found = shutil.which(name)
    if not found:
        raise Skipped(f"{name} is missing (tests/packages release installs it)")
    return (found,)


@contextlib.contextmanager
def taken_by_kernel(architecture):
    """The kernel executes such programs, also in other roots: as systemd registers them where it runs."""
    name = f"qemu-{MACHINES[architecture]}"
    if own_architecture() == architecture or (FORMATS / name).exists():
        yield
        return
    with contextlib.ExitStack() as undone:
        if not (FORMATS / "register").exists():
            run("mount", "-t", "binfmt_misc", "binfmt_misc", FORMATS)
            undone.callback(run, "umount", FORMATS)
        (FORMATS / "register").write_text(Path(f"/usr/lib/binfmt.d/{name}.conf").read_text())
        undone.callback((FORMATS / name).write_text, "-1")
        yield
