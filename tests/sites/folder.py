"""The folder of a version of the site, and the list of versions beside it."""
import html
import json
import re
import shutil
import string
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from rendering.tree import ROOT, VERSION

from . import markup, pages

PARTS = Path(__file__).parent
ASSETS = ("site.css", "site.js", "icon.svg")
LEAST_HEADINGS = 2


def make(folder, repository=None):
    """build/site or another: VERSION/ anew, and the list of the versions that are there. Returns {path: Page}."""
    with ThreadPoolExecutor() as pool:
        made = {page.path: page for page in pool.map(lambda path: markup.make(path, repository), pages.paths())}
    own = folder / VERSION
    shutil.rmtree(own, ignore_errors=True)
    own.mkdir(parents=True)
    for name in ASSETS:
        shutil.copyfile(PARTS / name, own / name)
    sections = pages.navigation(made)
    for page in made.values():
        file = own / page.address
        file.parent.mkdir(exist_ok=True)
        file.write_text(_whole(page, made, sections))
        for picture in page.pictures:
            (own / picture).parent.mkdir(exist_ok=True)
            shutil.copyfile(ROOT / picture, own / picture)
    (own / "search.js").write_text(_search(made, pages.order(sections)))
    write_versions(folder)
    return made


def _template(name):
    return string.Template((PARTS / name).read_text())


# ---- a page
def _whole(page, made, sections):
    start = page.path == pages.START
    return _template("page.html").substitute(
        title=html.escape("kuryr-cni" if start else f"{page.title} · kuryr-cni"), version=VERSION, root=pages.root_of(page.path),
        about=html.escape(_shortened(page.headings[0].said)), kind="start" if start else "page",
        navigation=_navigation(page, sections), body=_with_picture_first(page.body) if start else page.body,
        above=_section_of(page, sections), contents=_contents(page) if not start else "", neighbours=_neighbours(page, made, sections))


def _shortened(text, most=160):
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} ..."


def _with_picture_first(body):
    """The start page shows the product at work before it says more."""
    figure = re.search(r"<figure>.*?</figure>\n?", body, re.DOTALL)[0]
    paragraphs = body.replace(figure, "").split("</p>", 2)
    return "</p>".join([*paragraphs[:2], f"\n{figure}{paragraphs[2].lstrip()}"])


def _link(page, path, text, anchor="", more=""):
    to = markup.relative(page.path, pages.address(path)) + (f"#{anchor}" if anchor else "")
    return f'<a href="{to}"{more}>{html.escape(text)}</a>'


def _navigation(page, sections):
    lines = []
    for title, entries in sections:
        lines.append(f"<h2>{html.escape(title)}</h2>\n<ul>")
        for entry in entries:
            here = ' aria-current="page"' if entry.path == page.path and not entry.anchor else ""
            lines.append(f"<li>{_link(page, entry.path, entry.label, entry.anchor, here)}</li>")
        lines.append("</ul>")
    return "\n".join(lines)


def _section_of(page, sections):
    """Above the title."""
    for title, entries in sections:
        if page.path in (entry.path for entry in entries if not entry.anchor):
            return f'<p class="above">{html.escape(title)}</p>'
    return ""


def _contents(page):
    """The list of the page's headings."""
    found = [each for each in page.headings if each.level == 2]
    if len(found) < LEAST_HEADINGS:
        return ""
    items = "\n".join(f'<li><a href="#{each.anchor}">{html.escape(each.text)}</a></li>' for each in found)
    return f'<nav class="contents" aria-labelledby="contents">\n<h2 id="contents">On this page</h2>\n<ul>\n{items}\n</ul>\n</nav>'


def _neighbours(page, made, sections):
    """The pages before and after, in the order of the navigation."""
    ways = [pages.START, *pages.order(sections)]
    if page.path not in ways:
        return ""
    at = ways.index(page.path)
    links = []
    if at > 0:
        links.append(_link(page, ways[at - 1], f"←\N{NO-BREAK SPACE}{made[ways[at - 1]].title}", more=' rel="prev"'))
    if at + 1 < len(ways):
        links.append(_link(page, ways[at + 1], f"{made[ways[at + 1]].title}\N{NO-BREAK SPACE}→", more=' rel="next"'))
    return "\n".join(links)


# ---- search and versions
def _search(made, order):
    """[[address, title, [[anchor, heading, text]]]], as a script: a browser reads no JSON of a file."""
    rest = [path for path in made if path not in order]
    index = [[page.address, page.title, [[each.anchor, each.text, each.said] for each in page.headings]]
             for page in (made[path] for path in [*order, *rest])]
    return f"window.siteIndex = {json.dumps(index, ensure_ascii=False, separators=(',', ':'))};\n"


def _numbers(version):
    return [int(each) for each in re.findall(r"\d+", version)]


def versions_of(folder):
    """The newest first."""
    there = [each.parent.name for each in folder.glob("*/index.html") if re.match(r"\d+\.", each.parent.name)]
    return sorted(there, key=_numbers, reverse=True)


def write_versions(folder):
    there = versions_of(folder)
    (folder / "versions.json").write_text(json.dumps(there) + "\n")
    (folder / "versions.js").write_text(f"window.siteVersions = {json.dumps(there)};\n")
    items = "\n".join(f'<li><a href="{each}/index.html">kuryr-cni {each}</a></li>' for each in there)
    (folder / "index.html").write_text(_template("versions.html").substitute(newest=there[0], items=items))
