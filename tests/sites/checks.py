"""Facts about a made site: by its files, and by a browser."""
import filecmp
import json
import re
import shutil
import tempfile
from pathlib import Path

from harness import report
from rendering.tree import VERSION

from . import browser, folder, links, looks, pages

OLDER = "0.0.9"


def check_files(facts, site, repository, then=None):
    """then(the folder of another one, {path: Page}): is called before that folder goes."""
    with tempfile.TemporaryDirectory() as work:
        again = Path(work)
        made = folder.make(again, repository)
        _check_files(facts, site, again, made)
        shutil.copytree(again / VERSION, again / OLDER)
        folder.write_versions(again)
        _check_versions(facts, again)
        if then:
            then(again, made)


def check(facts, site, repository):
    """The files, and what a browser shows."""
    def look(again, made):
        with facts.fact("a browser is there", basis=True):
            if missing := browser.missing():
                raise report.Skipped(f"not installed: {', '.join(missing)}; tests/packages browser brings them")
        with browser.served(again) as address, browser.chromium() as driver:
            looks.check(facts, driver, address, made)

    check_files(facts, site, repository, look)


def none(problems, most=8):
    found = list(problems)
    assert not found, "; ".join(found[:most]) + (f"; and {len(found) - most} more" if len(found) > most else "")


def _check_files(facts, site, again, made):
    with facts.fact("what is made twice is the same bytes"):
        none(_different(site / VERSION, again / VERSION))
    read = links.read(again)
    count = sum(len(page.links) for page in read.values())
    with facts.fact(f"{count} links of {len(made)} pages lead to a page, and to an anchor of it"):
        none(links.broken(again, read))
    with facts.fact("no anchor stands twice on a page"):
        none(links.doubled(read))
    with facts.fact("no page fetches anything from another server"):
        none(links.foreign(again, read))
    with facts.fact("a chain of links leads from the first page to each page"):
        none(links.unreachable(read, "index.html"))
    with facts.fact("the navigation has the sections of docs/README.md, and all its pages"):
        none(_not_in_navigation(again / VERSION, made))
    with facts.fact("without JavaScript a page says where all pages are"):
        none(name for name in made if "<noscript>" not in (again / VERSION / pages.address(name)).read_text())


def _different(one, other):
    names = {each.relative_to(root).as_posix() for root in (one, other) for each in root.rglob("*") if each.is_file()}
    for name in sorted(names):
        if not ((one / name).is_file() and (other / name).is_file() and filecmp.cmp(one / name, other / name, shallow=False)):
            yield name


def _not_in_navigation(own, made):
    sections = pages.listed(made[pages.INDEX].source)
    wanted = [title for title, _ in sections]
    text = (own / "index.html").read_text()
    navigation = text[text.index('<nav class="pages"'):text.index("</nav>")]
    if (found := re.findall("<h2>(.*)</h2>", navigation)) != wanted:
        yield f"sections {found}, not {wanted}"
    for _, target in pages.LINK.findall("\n".join(cell for _, cells in sections for cell in cells)):
        path, anchor = pages.target_of(pages.INDEX, target)
        link = pages.address(path) + (f"#{anchor}" if anchor else "")
        if f'href="{link}"' not in navigation:
            yield f"{link} is not there"


def _check_versions(facts, site):
    with facts.fact("versions.json has all versions, the newest first, and index.html leads to the newest"):
        there = json.loads((site / "versions.json").read_text())
        assert there == [VERSION, OLDER], there
        text = (site / "index.html").read_text()
        assert f'location.replace("{VERSION}/index.html")' in text and f'href="{OLDER}/index.html"' in text, text
