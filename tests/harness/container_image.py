"""Container images of programs that are here, as archives that `ctr images import` and `podman load` take."""
import hashlib
import io
import json
import os
import subprocess
import tarfile
from pathlib import Path

FOLDERS = ("bin", "dev", "etc", "proc", "run", "sys", "tmp")
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


class Layer:
    """The files of an image. Each path is added once: later ones count for nothing."""

    def __init__(self, root="/", enter=()):
        """root: the folder whose programs it gets; enter: a command that runs its argument there."""
        self._root, self._enter = Path(root), enter
        self._content = io.BytesIO()
        self._archive = tarfile.open(fileobj=self._content, mode="w")
        self._paths = set()
        for folder in FOLDERS:
            self._add(folder, tarfile.DIRTYPE)

    def add_program(self, file, path=None):
        """A program of the root, with the libraries that it loads. path: another one in the image."""
        libraries = subprocess.run([*self._enter, "ldd", file], capture_output=True, text=True, check=False).stdout
        for each in (word for word in libraries.split() if word.startswith("/")):
            self._add_file(each, each)
        self._add_file(file, path or file)

    def add_links(self, target, *paths):
        for path in paths:
            self._add(path, tarfile.SYMTYPE, link=target)

    def add_text(self, path, text):
        self._add(path, tarfile.REGTYPE, text.encode())

    def content(self, file):
        """Of a file of the root."""
        return (self._root / str(file).lstrip("/")).read_bytes()

    def packed(self):
        self._archive.close()
        return self._content.getvalue()

    def _add_file(self, file, path):
        self._add(str(path), tarfile.REGTYPE, self.content(file))

    def _add(self, path, kind, content=b"", link=""):
        path = path.lstrip("/")
        if path not in self._paths:
            self._paths.add(path)
            _add(self._archive, path, content, kind, link)


def write_archive(file, layer, images):
    """images: {name: fields of its configuration, such as Entrypoint}; all have that layer."""
    content = layer.packed()
    with tarfile.open(file, "w") as archive:
        _add(archive, "layer.tar", content)
        manifest = []
        for name, fields in images.items():
            config = _configuration(content, {"Env": ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], **fields})
            manifest.append({"Config": f"{_sha256(config)}.json", "RepoTags": [name], "Layers": ["layer.tar"]})
            _add(archive, manifest[-1]["Config"], config)
        _add(archive, "manifest.json", json.dumps(manifest).encode())


def _configuration(layer, fields):
    machine = os.uname().machine
    return json.dumps({"architecture": ARCHITECTURES.get(machine, machine), "os": "linux", "config": fields,
                       "rootfs": {"type": "layers", "diff_ids": [f"sha256:{_sha256(layer)}"]},
                       # podman build counts the layers of an image by its history.
                       "history": [{"created_by": "tests/harness"}]}).encode()


def _sha256(content):
    return hashlib.sha256(content).hexdigest()


def _add(archive, name, content, kind=tarfile.REGTYPE, link=""):
    entry = tarfile.TarInfo(name)
    entry.type, entry.linkname, entry.size, entry.mode = kind, link, len(content), 0o755
    archive.addfile(entry, io.BytesIO(content))
