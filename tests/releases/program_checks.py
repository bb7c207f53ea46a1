"""Facts of a release's programs and Debian packages."""
import hashlib
import io
import json
import subprocess
import tarfile

from harness.expectation import expect
from harness.process import run
from harness.report import Skipped
from releases import folder as contents
from releases.archives import unpack
from releases.emulation import emulator, own_architecture
from rendering.tree import VERSION

ELF_MACHINES = {"amd64": 62, "arm64": 183}
REQUEST = '{"cniVersion": "1.0.0"}'
# Cases of tests/conformance that qemu tries.
WITHOUT_PODS = ("VER-01", "VER-02", "VER-03", "VER-04", "VER-10", "VER-11", "VER-12")
WITH_PODS = ("ADD-14", "DEL-01", "DEL-02", "DEL-03", "RES-06")


def same(found, wanted):
    expect(found == wanted, f"it is {found}, not {wanted}"[:2000])


def check(facts, folder, architecture, work):
    """The unpacked archive of the programs."""
    top = contents.archive_of(architecture).removesuffix(".tar.gz")
    tree = unpack(folder / contents.archive_of(architecture), work / architecture) / top
    programs = {name: tree / "bin" / name for name in contents.PROGRAMS}
    with facts.fact(f"{architecture}: the programs are static, and of that architecture"):
        for name, path in programs.items():
            _expect_static(name, path.read_bytes(), architecture)
    with facts.fact(f"{architecture}: they tell their version"):
        for name, path in programs.items():
            same(run(*emulator(architecture), path, "--version").split()[:2], [name, VERSION])
    with facts.fact(f"{architecture}: kuryr-cni answers VERSION"):
        answer = run(*emulator(architecture), str(programs["kuryr-cni"]), input=REQUEST, env={"CNI_COMMAND": "VERSION"})
        expect("1.1.0" in json.loads(answer)["supportedVersions"], answer)
    with facts.fact(f"{architecture}: man pages and words for shells are those of the programs"):
        same({each.stem for each in (tree / "man").iterdir()}, {*contents.PROGRAMS, "kuryr.conf"})
        words = run(*emulator(architecture), programs["kuryr-controller"], "completion", "bash")
        same((tree / "completion/kuryr-controller").read_text(), words)
    with facts.fact(f"{architecture}: the SBOM is of these programs"):
        sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in programs.items()}
        same(contents.components_of(folder / contents.sbom_of(architecture)), sums)
    _check_packages(facts, folder, architecture, programs)
    if own_architecture() != architecture:
        _check_pods(facts, architecture, programs["kuryr-cni"], work)
    return tree


def _check_packages(facts, folder, architecture, programs):
    with facts.fact(f"{architecture}: the packages are of that architecture, and have these programs"):
        found = set()
        for name in contents.PACKAGES:
            file = folder / f"{name}_{VERSION}_{architecture}.deb"
            same(run("dpkg-deb", "-f", file, "Architecture").strip(), architecture)
            with tarfile.open(fileobj=io.BytesIO(run("dpkg-deb", "--fsys-tarfile", file, text=False))) as archive:
                found |= {archive.extractfile(each).read() for each in archive if each.isfile()}
        same([name for name, path in programs.items() if path.read_bytes() not in found], [])


def _check_pods(facts, architecture, program, work):
    """A runtime executes a script that has qemu execute the plugin."""
    plugin = work / f"{architecture}-plugin" / "kuryr-cni"
    plugin.parent.mkdir()
    plugin.write_text(f'#!/bin/sh\nexec {" ".join(emulator(architecture))} {program} "$@"\n')
    plugin.chmod(0o755)
    suite = ("tests/conformance", "--kuryr", "bridge", "--plugin", plugin, "--only")
    with facts.fact(f"{architecture}: it answers as CNI's specification has it"):
        run(*suite, ",".join(WITHOUT_PODS))
    with facts.fact(f"{architecture}: it plugs pods into a bridge, and unplugs them"):
        done = subprocess.run([*suite, ",".join(WITH_PODS)], capture_output=True, text=True, check=False)
        if "is no network namespace: Invalid argument" in done.stdout:
            raise Skipped("qemu-user does not know ioctl NS_GET_NSTYPE")
        expect(done.returncode == 0, done.stdout)


def _expect_static(name, content, architecture):
    machine = int.from_bytes(content[18:20], "little")
    expect(content[:4] == b"\x7fELF" and machine == ELF_MACHINES[architecture], f"{name} is for machine {machine}")
    offset, size, count = (int.from_bytes(content[begin:end], "little") for begin, end in ((32, 40), (54, 56), (56, 58)))
    kinds = {int.from_bytes(content[offset + each * size:][:4], "little") for each in range(count)}
    expect(3 not in kinds, f"{name} has an interpreter")
