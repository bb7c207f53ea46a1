"""Which files are pages, where each is on the site, and the navigation as docs/README.md has it."""
import posixpath
import re
from dataclasses import dataclass

from rendering.tree import ROOT

START, INDEX = "README.md", "docs/README.md"
# Words of files' names that are written in another way.
NAMES = {"ovn": "OVN", "ipam": "IPAM", "neutron": "Neutron", "quickstart": "Quick start:"}
# Names of other projects, which keep their hyphen.
WHOLE = ("kuryr-kubernetes", "ovs-cni")
LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


@dataclass
class Entry:
    """One line of the navigation."""
    label: str
    path: str
    anchor: str = ""


def paths():
    """The pages' files, in one order."""
    own = (START, "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
    return [*own, *sorted(f"docs/{each.name}" for each in (ROOT / "docs").glob("*.md"))]


def address(path):
    """Of a page's file. The site has the folders of the repository, so that links between pages only change their ends."""
    folder, name = posixpath.split(path)
    return posixpath.join(folder, "index.html" if name == "README.md" else f"{name.removesuffix('.md')}.html")


def root_of(path):
    """The way from a page to the folder of its version."""
    return "../" * path.count("/")


def target_of(path, link):
    """(file of the repository, anchor) to which a link of page `path` leads."""
    target, _, anchor = link.partition("#")
    return (posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path), anchor


def label(path):
    """A short name, by the file's."""
    if path in (START, INDEX):
        return "Start page" if path == START else "All pages"
    name = posixpath.basename(path).removesuffix(".md")
    if name.isupper():
        name = name.lower()
    for whole in WHOLE:
        name = name.replace(whole, whole.replace("-", "\0"))
    words = [NAMES.get(word, word.replace("\0", "-")) for word in name.split("-")]
    text = " ".join(words)
    return text if words[0] in WHOLE else text[0].upper() + text[1:]


def listed(text):
    """[(section, first cells of its rows)] of docs/README.md's text, as far as these are pages: its questions are no navigation."""
    sections = []
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        title, *lines = part.splitlines()
        head, *cells = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
        if head == "page":
            sections.append((title, cells))
    return sections


def navigation(made):
    """[(section, entries)], as docs/README.md has them. made: {path: Page}"""
    return [(title, [_entry(made, link) for cell in cells for _, link in LINK.findall(cell)])
            for title, cells in listed((ROOT / INDEX).read_text())]


def _entry(made, link):
    path, anchor = target_of(INDEX, link)
    if anchor:
        return Entry(made[path].heading(anchor), path, anchor)
    return Entry(label(path), path)


def order(sections):
    """The pages, each once, in the order of the navigation."""
    return list(dict.fromkeys(entry.path for _, entries in sections for entry in entries if not entry.anchor))
