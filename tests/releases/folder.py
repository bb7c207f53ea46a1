"""The folder of a release, made of builds: what it has, and what signs it."""
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

from releases import archives, images, package_list
from rendering import overlays
from rendering.tree import FOLDER, OVERLAYS, ROOT, VERSION, WORKLOADS, names

PROGRAMS = ("kuryr-cni", "kuryr-daemon", "kuryr-controller", "kuryr-devices")
PACKAGES = ("kuryr-common", "kuryr-cni", "kuryr-controller", "kuryr-devices")
BEGIN = f"kuryr-cni-{VERSION}"
CHART = f"{BEGIN}.tgz"
MANIFESTS = f"{BEGIN}-kubernetes.tar.gz"
SUMS, SIGNATURE, PUBLIC_KEY = "SHA256SUMS", "SHA256SUMS.minisig", "kuryr-cni.pub"
SIGNED_BY = (SUMS, SIGNATURE, PUBLIC_KEY)
# {image: its Containerfile}
IMAGES = {"kuryr-cni": "Containerfile", "kuryr-ovn": "ovn.Containerfile"}
COMMENT = f"kuryr-cni {VERSION}"


@dataclass(frozen=True)
class Target:
    architecture: str  # as Debian calls it
    build: Path


def archive_of(architecture):
    return f"{BEGIN}-{architecture}.tar.gz"


def sbom_of(architecture, name="kuryr-cni"):
    """name: an image's."""
    return f"{name}-{VERSION}-{architecture}.spdx.json"


def image_of(architecture, name):
    return f"{name}-{VERSION}-{architecture}.oci.tar"


def expected(architectures, of_images=tuple(IMAGES)):
    """The names of all files of a release."""
    found = {CHART, MANIFESTS, *SIGNED_BY, *map(rendered, names(OVERLAYS))}
    for each in architectures:
        found |= {archive_of(each), *(f"{name}_{VERSION}_{each}.deb" for name in PACKAGES),
                  *(of(each, name) for name in of_images for of in (sbom_of, image_of))}
    return found


def rendered(overlay):
    return f"{BEGIN}-{overlay}.yaml"


def make(folder, targets, of_images, epoch, key=None):
    """In a new or empty folder. key: a file with minisign's secret key, without a password; without it the folder gets one of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise FileExistsError(f"{folder} is not empty")
    for target in targets:
        _add_target(folder, target, epoch)
    # Most of it is waiting for Debian's mirror.
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(_add_image, folder, name, target, epoch) for name in of_images for target in targets]:
            done.result()
    _add_manifests(folder, epoch)
    _sign(folder, key)


def _add_target(folder, target, epoch):
    build = target.build
    entries = [archives.entry_of(build / "bin" / name, f"bin/{name}") for name in PROGRAMS]
    entries += archives.entries_below(build / "man", "man") + archives.entries_below(build / "completion", "completion")
    entries += [archives.entry_of(file, f"etc/{file.name}") for file in (ROOT / "etc").iterdir() if file.is_file()]
    entries += [archives.entry_of(ROOT / name, name) for name in ("LICENSE", "CHANGELOG.md")]
    top = archive_of(target.architecture).removesuffix(".tar.gz")
    entries = [archives.Entry(f"{top}/{each.path}", each.content, each.mode, each.link) for each in entries]
    (folder / archive_of(target.architecture)).write_bytes(archives.zipped(archives.tar(entries, epoch)))
    shutil.copyfile(build / "sbom/kuryr-cni.spdx.json", folder / sbom_of(target.architecture))
    for file in (build / "debs").glob("*.deb"):
        shutil.copyfile(file, folder / file.name)


def _add_image(folder, name, target, epoch):
    debian = images.write_image(folder / image_of(target.architecture, name), f"docker.io/library/{name}:{VERSION}",
                                images.read_recipe(IMAGES[name]), target, epoch)
    if debian:
        listed = package_list.spdx(name, VERSION, package_list.packages_of(debian), epoch)
        (folder / sbom_of(target.architecture, name)).write_text(listed)


def _add_manifests(folder, epoch):
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([FOLDER / "chart/make", work], check=True)
        (folder / CHART).write_bytes(archives.zipped(archives.tar(archives.entries_below(work), epoch)))
    kept = [each for each in archives.entries_below(FOLDER, "kubernetes")
            if not each.path.startswith(("kubernetes/chart/", "kubernetes/image/")) and not each.path.endswith("Containerfile")]
    (folder / MANIFESTS).write_bytes(archives.zipped(archives.tar(kept, epoch)))
    # kubectl 1.20, Debian 12's, cannot render them.
    for name in names(OVERLAYS):
        # Pods find what they mount. YAML would refer to what two objects share.
        objects = sorted(overlays.objects_of(name).values(), key=lambda each: each["kind"] in WORKLOADS)
        plain = json.loads(json.dumps(objects))
        (folder / rendered(name)).write_text(yaml.safe_dump_all(plain, sort_keys=False, allow_unicode=True, width=1000))


def sums_of(folder):
    listed = sorted(each.name for each in folder.iterdir() if each.name not in SIGNED_BY)
    return subprocess.run(["sha256sum", *listed], cwd=folder, check=True, stdout=subprocess.PIPE).stdout


def _sign(folder, key):
    (folder / SUMS).write_bytes(sums_of(folder))
    with tempfile.TemporaryDirectory() as work:
        public = folder / PUBLIC_KEY
        if key:
            _minisign("-R", "-s", key, "-p", public)
        else:
            key = Path(work, "key")
            _minisign("-G", "-W", "-s", key, "-p", public)
        _minisign("-S", "-W", "-s", key, "-m", folder / SUMS, "-t", COMMENT, "-c", f"signature of {SUMS}")


def _minisign(*words):
    done = subprocess.run(["minisign", *words], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"minisign {words[0]}: {done.stdout}{done.stderr}")


def components_of(sbom):
    """{name: SHA-256} of the programs that an SBOM is about."""
    packages = json.loads(Path(sbom).read_text())["packages"]
    return {each["name"]: each["checksums"][0]["checksumValue"] for each in packages if "checksums" in each}
