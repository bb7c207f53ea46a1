"""Facts of an image: it is whole, and its programs start in its root."""
import hashlib
import io
import json
import shutil
import tarfile

from harness.expectation import expect
from harness.process import run
from harness.report import Skipped
from releases import folder as contents
from releases.emulation import emulator
from releases.program_checks import same
from rendering.tree import VERSION


def check(facts, file, name, architecture, tree, work):
    """tree: the unpacked archive of the programs."""
    root = work / f"{name}-{architecture}"
    with facts.fact(f"{architecture}: image {name} is whole, and of that architecture"):
        config = _unpack_image(file, root)
        same(config["architecture"], architecture)
    with facts.fact(f"{architecture}: image {name} starts"):
        words = _emulated_inside(root, architecture)
        if name == "kuryr-cni":
            _expect_same_programs(root, tree)
            said = run("chroot", root, *words, *config["config"]["Entrypoint"], "--version")
            same(said.split()[:2], ["kuryr-daemon", VERSION])
        else:
            _expect_packages(root, file.parent / contents.sbom_of(architecture, name))
            run("chroot", root, *words, "/bin/bash", "-n", "/usr/local/bin/ovn-member")
            for program in ("/usr/bin/ovn-northd", "/usr/bin/ovn-controller", "/usr/sbin/ovsdb-server", "/usr/bin/curl"):
                run("chroot", root, *words, program, "--version")
    shutil.rmtree(root, ignore_errors=True)
    with facts.fact(f"{architecture}: podman loads it by its name"):
        if not shutil.which("podman"):
            raise Skipped("podman is missing (tests/packages runtimes installs it)")
        storage = work / f"{name}-{architecture}-storage"
        podman = ("podman", "--storage-driver", "vfs", "--root", storage, "--runroot", work / "podman")
        run(*podman, "load", "--input", file)
        found = run(*podman, "image", "inspect", "--format", "{{.Architecture}}", f"docker.io/library/{name}:{VERSION}")
        same(found.strip(), architecture)
        shutil.rmtree(storage)


def _expect_same_programs(root, tree):
    for name in contents.PROGRAMS:
        expect((root / "usr/local/bin" / name).read_bytes() == (tree / "bin" / name).read_bytes(), f"{name} is another in the image")


def _expect_packages(root, sbom):
    """The list has OVN, at the version that is there."""
    version = run("dpkg-query", f"--admindir={root}/var/lib/dpkg", "-W", "-f", "${Version}", "ovn-central")
    found = {each["name"]: each["versionInfo"] for each in json.loads(sbom.read_text())["packages"]}
    same(found.get("ovn"), version)


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
    words = emulator(architecture)
    for each in words:
        shutil.copyfile(each, root / "emulator")
        (root / "emulator").chmod(0o755)
    return ("/emulator",) if words else ()
