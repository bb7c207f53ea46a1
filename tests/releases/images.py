"""Images as OCI archives, of what a Containerfile in etc/kubernetes says. No container is run for it, so an image can be of another
architecture: Debian's packages are installed by mmdebstrap, for another architecture by qemu."""
import hashlib
import json
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

from releases import archives
from releases.emulation import taken_by_kernel
from rendering.tree import FOLDER, ROOT

# {Debian's release as a tag of its image: its name}
SUITES = {"13-slim": "trixie"}
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PREFIX = "application/vnd.oci.image."


@dataclass
class Recipe:
    """What a Containerfile says."""
    suite: str = ""  # of Debian; none for an image that has nothing else
    packages: tuple = ()
    copies: tuple = ()  # (paths of the tree, where they go)
    entrypoint: tuple = ()


def read_recipe(name):
    made = Recipe()
    for line in (FOLDER / name).read_text().splitlines():
        verb, _, rest = line.partition(" ")
        if verb == "FROM" and rest != "scratch":
            made.suite = SUITES[rest.rpartition(":")[2]]
        elif verb == "RUN":
            made.packages = tuple(re.search(r"apt-get install (?:--\S+ )*([a-z0-9 -]+)$", rest)[1].split())
        elif verb == "COPY":
            *sources, target = shlex.split(rest)
            made.copies += ((sources, target),)
        elif verb == "ENTRYPOINT":
            made.entrypoint = tuple(json.loads(rest))
        elif verb and not verb.startswith("#") and verb != "FROM":
            raise ValueError(f"{name}: {verb}")
    return made


def write_image(file, name, recipe, target, epoch):
    """name: as the manifests have it. target: whose build has the programs. Gives the root of Debian below them, a tar, or none."""
    debian = _debian(recipe, target.architecture, epoch) if recipe.suite else None
    layers = [debian] if debian else []
    layers.append(archives.tar(_copied(recipe, target.build), epoch))
    told = {"Env": [PATH]} | ({"Entrypoint": list(recipe.entrypoint)} if recipe.entrypoint else {"Cmd": ["bash"]})
    config = {"architecture": target.architecture, "os": "linux", "config": told,
              "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_sha256(layer)}" for layer in layers]}}
    blobs = _Blobs()
    manifest = {"schemaVersion": 2, "mediaType": f"{PREFIX}manifest.v1+json",
                "config": blobs.add(f"{PREFIX}config.v1+json", json.dumps(config).encode()),
                "layers": [blobs.add(f"{PREFIX}layer.v1.tar+gzip", archives.zipped(layer)) for layer in layers]}
    listed = blobs.add(manifest["mediaType"], json.dumps(manifest).encode())
    # containerd reads the first, podman the second.
    listed["annotations"] = {"io.containerd.image.name": name, "org.opencontainers.image.ref.name": name}
    index = {"schemaVersion": 2, "mediaType": f"{PREFIX}index.v1+json", "manifests": [listed]}
    entries = [archives.Entry("oci-layout", b'{"imageLayoutVersion": "1.0.0"}'), archives.Entry("index.json", json.dumps(index).encode())]
    Path(file).write_bytes(archives.tar(entries + blobs.entries, epoch))
    return debian


class _Blobs:
    def __init__(self):
        self.entries = []

    def add(self, kind, content):
        """Its descriptor."""
        self.entries.append(archives.Entry(f"blobs/sha256/{_sha256(content)}", content))
        return {"mediaType": kind, "digest": f"sha256:{_sha256(content)}", "size": len(content)}


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


def _copied(recipe, build):
    entries = []
    for sources, target in recipe.copies:
        for source in sources:
            path = Path(build, source.removeprefix("build/release/")) if source.startswith("build/release/") else ROOT / source
            if path.is_dir():
                entries += archives.entries_below(path, target.strip("/"))
            else:
                entries.append(archives.entry_of(path, target.strip("/") + (f"/{path.name}" if target.endswith("/") else "")))
    return entries


# ---- Debian
def _debian(recipe, architecture, epoch):
    """A root of that Debian with the packages, as a tar."""
    without = [f"--dpkgopt=path-exclude=/usr/share/{folder}/*" for folder in ("doc", "info", "locale", "man")]
    words = ["mmdebstrap", "--mode=root", "--variant=essential", "--format=tar", f"--architectures={architecture}",
             f"--include={','.join(recipe.packages)}", "--skip=check/qemu,output/dev", '--aptopt=APT::Install-Recommends "false"',
             "--dpkgopt=force-unsafe-io", *without, recipe.suite, "-", *sources_of(recipe.suite)]
    with taken_by_kernel(architecture):
        done = subprocess.run(words, env={"PATH": PATH.partition("=")[2], "SOURCE_DATE_EPOCH": str(epoch)}, capture_output=True,
                              check=False)
    if done.returncode:
        raise RuntimeError(done.stderr.decode()[-2000:])
    return done.stdout


def sources_of(suite):
    """The machine's sources of Debian, with its updates, for that suite."""
    said = subprocess.run(["apt-get", "indextargets", "Created-By: Packages", "Origin: Debian", "--format", "$(REPO_URI) $(CODENAME)"],
                          check=True, capture_output=True, text=True).stdout
    own = re.search(r"^VERSION_CODENAME=(\w+)$", Path("/etc/os-release").read_text(), re.MULTILINE)[1]
    listed = sorted(set(line for line in said.splitlines() if line.split()[1].startswith(own)))
    return [f"deb {uri} {codename.replace(own, suite)} main" for uri, codename in map(str.split, listed)]
