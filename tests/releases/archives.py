"""Archives that are the same bytes whenever and wherever they are made."""
import gzip
import io
import os
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath


@dataclass(frozen=True)
class Entry:
    """A file, or a link to another."""
    path: str
    content: bytes = b""
    mode: int = 0o644
    link: str = ""


def entry_of(file, path):
    """That file or link, at another path."""
    file = Path(file)
    if file.is_symlink():
        return Entry(path, mode=0o777, link=os.readlink(file))
    return Entry(path, file.read_bytes(), 0o755 if os.access(file, os.X_OK) else 0o644)


def entries_below(folder, path=""):
    """All files and links of a folder, below that path."""
    return [entry_of(each, str(PurePosixPath(path, each.relative_to(folder)))) for each in Path(folder).rglob("*")
            if each.is_symlink() or each.is_file()]


def tar(entries, epoch):
    """Of root's, with all folders."""
    entries = sorted(entries, key=lambda entry: entry.path)
    folders = {str(folder) for entry in entries for folder in PurePosixPath(entry.path).parents} - {"."}
    members = [(folder, None) for folder in folders] + [(entry.path, entry) for entry in entries]
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, entry in sorted(members, key=lambda member: member[0]):
            archive.addfile(_header(path, entry, epoch), io.BytesIO(entry.content if entry else b""))
    return content.getvalue()


def _header(path, entry, epoch):
    header = tarfile.TarInfo(path)
    header.mtime = epoch
    if entry is None:
        header.type, header.mode = tarfile.DIRTYPE, 0o755
    elif entry.link:
        header.type, header.mode, header.linkname = tarfile.SYMTYPE, entry.mode, entry.link
    else:
        header.size, header.mode = len(entry.content), entry.mode
    return header


def zipped(content):
    return gzip.compress(content, 6, mtime=0)


def unpack(file, to):
    """The folder, with what the archive has."""
    with tarfile.open(file) as archive:
        archive.extractall(to)
    return to
