"""What the files of a made site say, without a browser: links, anchors, and what they fetch."""
import posixpath
import re
from collections import defaultdict
from html.parser import HTMLParser

ELSEWHERE = re.compile(r"(?:[a-z]+:)?//")
FETCHING = {("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("form", "action")}


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.fetched, self.ids = [], [], []

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        for name, value in attrs.items():
            if (tag, name) in FETCHING:
                self.fetched.append(value)
            elif (tag, name) == ("a", "href"):
                self.links.append(value)


def read(folder):
    """{file: its links, what it fetches, its ids} of all pages below a folder."""
    found = {}
    for file in sorted(folder.rglob("*.html")):
        reader = _Reader()
        reader.feed(file.read_text())
        found[file.relative_to(folder).as_posix()] = reader
    return found


def broken(folder, pages):
    for name, page in pages.items():
        for link in page.links + page.fetched:
            if re.match("[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(name), target)) if target else name
            if not (folder / path).is_file():
                yield f"{name}: {link} leads nowhere"
            elif anchor and path in pages and anchor not in pages[path].ids and not (anchor == "all" and path == "index.html"):
                yield f"{name}: {link}: there is no such anchor"


def doubled(pages):
    """An anchor that stands twice leads to the first place alone."""
    for name, page in pages.items():
        for anchor in sorted({each for each in page.ids if page.ids.count(each) > 1}):
            yield f"{name} has the id {anchor} twice"


def foreign(folder, pages):
    """What a browser would fetch from another server."""
    for name, page in pages.items():
        yield from (f"{name} fetches {each}" for each in page.fetched if ELSEWHERE.match(each))
    for file in sorted(each for each in folder.rglob("*") if each.suffix in (".css", ".svg", ".js") and each.name != "search.js"):
        for each in re.findall(r"url\(\s*[\"']?([^\"')]+)|@import\s+[\"']([^\"']+)|(?:href|src)=\"([^\"]+)\"", file.read_text()):
            if ELSEWHERE.match("".join(each)):
                yield f"{file.name} fetches {''.join(each)}"


def unreachable(pages, start):
    """Pages to which no chain of links leads from the start page."""
    ways = defaultdict(set)
    for name, page in pages.items():
        for link in page.links:
            if not re.match("[a-z]+:|#", link):
                ways[name].add(posixpath.normpath(posixpath.join(posixpath.dirname(name), link.partition("#")[0])))
    seen, ahead = set(), {start}
    while ahead:
        seen |= ahead
        ahead = set().union(*(ways[name] for name in ahead)) - seen
    return [f"no link leads to {name}" for name in sorted(pages.keys() - seen)]
