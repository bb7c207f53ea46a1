"""Facts of a release's folder, read as a user gets it: nothing of the build counts."""
import contextlib
import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

import yaml

from harness.expectation import Failed, expect
from harness.process import run
from harness.report import Skipped
from harness.transcript import Transcript
from releases import folder as contents
from rendering.tree import OVERLAYS, VERSION, containers_of, names, workloads, by_name

EMULATORS = {"amd64": "qemu-x86_64-static", "arm64": "qemu-aarch64-static"}
MACHINES = {"amd64": 62, "arm64": 183}  # ELF's
REQUEST = '{"cniVersion": "1.0.0"}'


def check(facts, folder, architectures, of_images, work):
    with facts.fact("the folder has all files, and no other", basis=True):
        same(sorted(each.name for each in folder.iterdir()), sorted(contents.expected(architectures, of_images)))
    _signature(facts, folder, work)
    _manifests(facts, folder, work)
    for each in architectures:
        _programs(facts, folder, each, work)
        for name in of_images:
            _image(facts, folder, name, each, work)


def same(found, wanted):
    expect(found == wanted, f"it is {found}, not {wanted}"[:2000])


# ---- who made it
def _verify(folder):
    """By the page's commands."""
    commands = Transcript("Verify a release", "docs/release.md").take_commands()
    said = run("bash", "-euc", "\n".join(commands), cwd=folder)
    expect(contents.COMMENT in said, said)


def _refuse(folder):
    try:
        _verify(folder)
    except subprocess.CalledProcessError:
        return
    raise Failed("it is taken")


def _signature(facts, folder, work):
    with facts.fact("docs/release.md's commands find signature and checksums right"):
        _verify(folder)
        listed = [line.split()[1] for line in (folder / contents.SUMS).read_text().splitlines()]
        same(set(listed), {each.name for each in folder.iterdir()} - set(contents.SIGNED_BY))
    with facts.fact("they refuse a file with one more byte"), _copy(folder, work) as copy:
        with open(copy / contents.CHART, "ab") as chart:
            chart.write(b"\n")
        _refuse(copy)
        (copy / contents.SUMS).write_bytes(contents.sums_of(copy))
        _refuse(copy)
    with facts.fact("they refuse another's signature"), _copy(folder, work) as copy:
        (copy / contents.PUBLIC_KEY).unlink()
        run("minisign", "-G", "-W", "-s", work / "key", "-p", copy / contents.PUBLIC_KEY)
        _refuse(copy)


@contextlib.contextmanager
def _copy(folder, work):
    with tempfile.TemporaryDirectory(dir=work) as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        yield Path(copy)


# ---- what clusters get
def _unpack(file, to):
    with tarfile.open(file) as archive:
        archive.extractall(to)
    return to


def _manifests(facts, folder, work):
    tree = _unpack(folder / contents.MANIFESTS, work / "manifests") / "kubernetes"
    with facts.fact("the manifests' tree gives what each overlay's file has"):
        same(names(tree / "overlays"), names(OVERLAYS))
        for name in names(OVERLAYS):
            same(run("kubectl", "kustomize", tree / "overlays" / name), (folder / contents.rendered(name)).read_text())
    with facts.fact("their images are this version's"):
        for name in names(OVERLAYS):
            objects = by_name(yaml.safe_load_all((folder / contents.rendered(name)).read_text()))
            found = {container["image"] for each in workloads(objects) for container in containers_of(each["spec"]["template"]["spec"])}
            assert found and found <= {f"{image}:{VERSION}" for image in contents.IMAGES}, f"{name}: {found}"
    with facts.fact("the chart is of this version, and has a template for each part"):
        chart = _unpack(folder / contents.CHART, work / "chart") / "kuryr-cni"
        same(yaml.safe_load((chart / "Chart.yaml").read_text())["version"], VERSION)
        assert {"agent.yaml", "controller.yaml", "ovn.yaml"} <= {each.name for each in (chart / "templates").iterdir()}


# ---- what nodes get
def emulated(architecture):
    """Words in front of a program of that architecture."""
    if run("dpkg --print-architecture").strip() == architecture:
        return ()
    emulator = shutil.which(EMULATORS[architecture])
    if not emulator:
        raise Skipped(f"{EMULATORS[architecture]} is missing (tests/packages release installs it)")
    return (emulator,)


def unpacked(folder, architecture, work):
    """Of the archive with the programs."""
    top = contents.archive_of(architecture).removesuffix(".tar.gz")
    return _unpack(folder / contents.archive_of(architecture), work / architecture) / top


def _programs(facts, folder, architecture, work):
    tree = unpacked(folder, architecture, work)
    programs = {name: tree / "bin" / name for name in contents.PROGRAMS}
    with facts.fact(f"{architecture}: the programs are static, and of that architecture"):
        for name, path in programs.items():
            _expect_static(name, path.read_bytes(), architecture)
    with facts.fact(f"{architecture}: they tell their version"):
        for name, path in programs.items():
            same(run(*emulated(architecture), path, "--version").split()[:2], [name, VERSION])
    with facts.fact(f"{architecture}: kuryr-cni answers VERSION"):
        answer = run(*emulated(architecture), str(programs["kuryr-cni"]), input=REQUEST, env={"CNI_COMMAND": "VERSION"})
        assert "1.1.0" in json.loads(answer)["supportedVersions"], answer
    with facts.fact(f"{architecture}: man pages and words for shells are those of the programs"):
        same({each.stem for each in (tree / "man").iterdir()}, {*contents.PROGRAMS, "kuryr.conf"})
        words = run(*emulated(architecture), programs["kuryr-controller"], "completion", "bash")
        same((tree / "completion/kuryr-controller").read_text(), words)
    with facts.fact(f"{architecture}: the SBOM is of these programs"):
        sums = {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in programs.items()}
        same(contents.components_of(folder / contents.sbom_of(architecture)), sums)
    with facts.fact(f"{architecture}: the packages are of that architecture, and have these programs"):
        found = set()
        for name in contents.PACKAGES:
            file = folder / f"{name}_{VERSION}_{architecture}.deb"
            same(run("dpkg-deb", "-f", file, "Architecture").strip(), architecture)
            with tarfile.open(fileobj=io.BytesIO(run("dpkg-deb", "--fsys-tarfile", file, text=False))) as archive:
                found |= {archive.extractfile(each).read() for each in archive if each.isfile()}
        same([name for name, path in programs.items() if path.read_bytes() not in found], [])


def _expect_static(name, content, architecture):
    machine = int.from_bytes(content[18:20], "little")
    assert content[:4] == b"\x7fELF" and machine == MACHINES[architecture], f"{name} is for machine {machine}"
    offset, size, count = (int.from_bytes(content[begin:end], "little") for begin, end in ((32, 40), (54, 56), (56, 58)))
    kinds = {int.from_bytes(content[offset + each * size:][:4], "little") for each in range(count)}
    assert 3 not in kinds, f"{name} has an interpreter"


# ---- images
def _image(facts, folder, name, architecture, work):
    root = work / f"{name}-{architecture}"
    with facts.fact(f"{architecture}: image {name} is whole, and of that architecture"):
        config = _unpack_image(folder / contents.image_of(name, architecture), root)
        same(config["architecture"], architecture)
    with facts.fact(f"{architecture}: image {name} starts"):
        words = _emulated_inside(root, architecture)
        if name == "kuryr-cni":
            _expect_same_programs(root, work / architecture)
            said = run("chroot", root, *words, *config["config"]["Entrypoint"], "--version")
            same(said.split()[:2], ["kuryr-daemon", VERSION])
        else:
            run("chroot", root, *words, "/bin/bash", "-n", "/usr/local/bin/ovn-member")
            for program in ("/usr/bin/ovn-northd", "/usr/bin/ovn-controller", "/usr/sbin/ovsdb-server", "/usr/bin/curl"):
                run("chroot", root, *words, program, "--version")
    if root.exists():
        shutil.rmtree(root)


def _expect_same_programs(root, tree):
    (programs,) = tree.glob("*/bin")
    for name in contents.PROGRAMS:
        assert (root / "usr/local/bin" / name).read_bytes() == (programs / name).read_bytes(), f"{name} is another in the image"


def _unpack_image(file, root):
    """Its configuration, every blob having the digest that is its name."""
    with tarfile.open(file) as archive:
        blobs = {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}
    for path, content in blobs.items():
        if path.startswith("blobs/sha256/"):
            same(hashlib.sha256(content).hexdigest(), path.removeprefix("blobs/sha256/"))

    def blob(descriptor):
        return blobs["blobs/" + descriptor["digest"].replace(":", "/")]

    (listed,) = json.loads(blobs["index.json"])["manifests"]
    manifest = json.loads(blob(listed))
    for layer in manifest["layers"]:
        with tarfile.open(fileobj=io.BytesIO(blob(layer))) as archive:
            archive.extractall(root)
    return json.loads(blob(manifest["config"]))


def _emulated_inside(root, architecture):
    words = emulated(architecture)
    for each in words:
        shutil.copyfile(each, root / "emulator")
        (root / "emulator").chmod(0o755)
    return ("/emulator",) if words else ()
