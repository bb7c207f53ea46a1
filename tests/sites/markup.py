"""A page's HTML, made by pandoc of its Markdown and changed for the site; its headings, and its text for the search."""
import html
import re
import subprocess
from dataclasses import dataclass, field
from html.parser import HTMLParser

from rendering.tree import ROOT

from . import pages

# Dollars are shells', and pages begin with no metadata.
FORMAT = "gfm-tex_math_dollars-emoji-yaml_metadata_block"
DROPPED = ("colgroup", "col")
LONG_NAME = re.compile(r"[\w./-]{12,}")
WITHIN_NAME = re.compile("(?<=[_/])|(?<=[a-z.])(?=[A-Z])")
BLOCKS = re.compile("h[1-6]|p|li|pre|t[dhr]")


@dataclass
class Heading:
    level: int
    anchor: str
    text: str
    # What follows, up to the next heading.
    said: str = ""


@dataclass
class Page:
    path: str
    source: str
    body: str = ""
    headings: list = field(default_factory=list)
    # Files of the repository that the page shows.
    pictures: list = field(default_factory=list)

    @property
    def title(self):
        return self.headings[0].text

    @property
    def address(self):
        return pages.address(self.path)

    def heading(self, anchor):
        return next(each.text for each in self.headings if each.anchor == anchor)


def make(path, repository=None):
    """The page of a file. repository: the address under which browsers find the repository's files."""
    made = subprocess.run(["pandoc", "--from", FORMAT, "--to", "html5", "--no-highlight", "--wrap", "none", ROOT / path], check=True,
                          capture_output=True, text=True)
    page = Page(path, (ROOT / path).read_text())
    rewriter = _Rewriter(page, repository)
    rewriter.feed(made.stdout)
    rewriter.close()
    page.body = "".join(rewriter.out)
    for heading in page.headings:
        heading.text, heading.said = (re.sub(r"\s+", " ", each).strip() for each in (heading.text, heading.said))
    return page


class _Rewriter(HTMLParser):
    def __init__(self, page, repository):
        super().__init__(convert_charrefs=False)
        self._page = page
        self._repository = repository
        self.out = []
        self._in_heading = False
        # Where the text of a link begins that leads to no page, and to which file it leads.
        self._unlinked = None
        # The page to which the link leads that is not ended.
        self._linked = None
        self._in_figure = False
        self._in_table = False

    # ---- HTMLParser
    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in DROPPED:
            return
        if re.fullmatch("h[1-6]", tag):
            self._page.headings.append(Heading(int(tag[1]), attrs["id"], ""))
            self._in_heading = True
        if tag == "a":
            self._begin_link(attrs)
        elif tag == "img":
            self._show(attrs)
        elif tag == "table":
            self._in_table = True
            self.out.append('<div class="table"><table>')
        else:
            self.out.append("<tr>" if tag == "tr" else self.get_starttag_text())

    def handle_endtag(self, tag):
        if BLOCKS.fullmatch(tag):
            self._say(" ")
        if tag in DROPPED:
            return
        if tag == "a":
            self._linked = None
        if tag == "a" and self._unlinked:
            self._end_unlinked()
        elif tag == "table":
            self._in_table = False
            self.out.append("</table></div>")
        elif tag == "p" and self._in_figure:
            self._in_figure = False
            self.out.append("</figure>")
        elif re.fullmatch("h[1-6]", tag):
            self._in_heading = False
            # For the mouse: others have the list of the page's headings.
            self.out.append(f'<a class="anchor" href="#{self._page.headings[-1].anchor}" tabindex="-1" aria-hidden="true">#</a></{tag}>')
        else:
            self.out.append(f"</{tag}>")

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        if self._linked and data in (self._linked, self._linked.rpartition("/")[2]):
            data = pages.label(self._linked)
        # In a table, a long name may go on in a second line.
        self.out.append(LONG_NAME.sub(lambda name: WITHIN_NAME.sub("<wbr>", name[0]), data) if self._in_table else data)
        self._say(data)

    def handle_entityref(self, name):
        self.out.append(f"&{name};")
        self._say(html.unescape(f"&{name};"))

    def handle_charref(self, name):
        self.handle_entityref(f"#{name}")

    # ---- parts
    def _say(self, text):
        if not self._page.headings:
            return
        heading = self._page.headings[-1]
        if self._in_heading:
            heading.text += text
        else:
            heading.said += text

    def _begin_link(self, attrs):
        href = attrs["href"]
        if re.match(r"[a-z]+:", href):
            self.out.append(f'<a href="{html.escape(href)}">')
            return
        path, anchor = pages.target_of(self._page.path, href)
        assert (ROOT / path).exists(), f"{self._page.path}: the link {href} leads nowhere"
        behind = f"#{anchor}" if anchor else ""
        if path == self._page.path:
            self.out.append(f'<a href="{behind or pages.address(path)}">')
        elif path in pages.paths():
            self._linked = path
            self.out.append(f'<a href="{relative(self._page.path, pages.address(path))}{behind}">')
        elif self._repository:
            self.out.append(f'<a href="{html.escape(self._repository)}/{path}{behind}">')
        else:
            self._unlinked = (len(self.out), path)

    def _end_unlinked(self):
        begin, path = self._unlinked
        self._unlinked = None
        text = "".join(self.out[begin:])
        code = f"<code>{path}</code>"
        self.out[begin:] = [code if path.endswith(re.sub("<[^>]*>", "", text)) else f"{text} ({code})"]

    def _show(self, attrs):
        """A picture, with its size, so that text does not jump when it has come."""
        path, _ = pages.target_of(self._page.path, attrs["src"])
        self._page.pictures.append(path)
        width, height = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', (ROOT / path).read_text()).groups()
        if self.out[-1] == "<p>":
            self.out[-1] = "<figure>"
            self._in_figure = True
        self.out.append(f'<img src="{html.escape(attrs["src"])}" width="{width}" height="{height}" alt="{html.escape(attrs["alt"])}">')


def relative(path, address):
    """A link of page `path` to an address below the version's folder."""
    folder = f"{path.rpartition('/')[0]}/"
    if folder != "/" and address.startswith(folder):
        return address.removeprefix(folder)
    return ("../" * path.count("/")) + address
