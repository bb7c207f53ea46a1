"""Templates of pages, whose figures are placeholders: {table:one}, {ratio:add}, {value:date}."""
import re
import textwrap

from performance import earlier, tables
from performance.comparisons import comparisons
from performance.numbers import number
from performance.values import values

PLACEHOLDER = re.compile(r"\{(\w+):([\w-]+)\}")
# Prose that shows figures of its own, by their units.
FIGURE = re.compile(r"\d[\d,.]* (?:ms|µs|s|MiB|KiB|GiB|Gb/s|MB/s|times|%)(?!\w)")
# Sections with figures of another source, which they name.
APART = re.compile(r"^### Extrapolated.*?(?=^## )", re.MULTILINE | re.DOTALL)


WIDTH = 130
# The beginning of an entry of a list; its other lines are as far to the right.
ENTRY = re.compile(r"(?:- |\d+\. )")


class Wrong(Exception):
    """A template or a run lacks something, which the text names."""


def render(template, run, peers):
    """run: a Run; peers: the earlier run's JSON."""
    if found := FIGURE.search(APART.sub("", template)):
        raise Wrong(f"a template has the figure \"{found[0]}\": use a placeholder")
    compared, single = comparisons(run), values(run)
    kinds = {"table": lambda name: {"peers": lambda _: earlier.peers(peers), "readme": lambda _: earlier.readme(run, peers),
                                    **tables.ALL}[name](run),
             "value": single.__getitem__, "ratio": lambda name: compared[name].of_floor(), "beside": lambda name: compared[name].of_peer(),
             "ours": lambda name: number(compared[name].ours), "floor": lambda name: number(compared[name].floor)}

    def put(match):
        try:
            return kinds[match[1]](match[2])
        except KeyError:
            raise Wrong(f"there is nothing for the placeholder {match[0]}") from None

    return "\n\n".join(map(_filled, PLACEHOLDER.sub(put, template).split("\n\n")))


def _filled(block):
    """A paragraph or a list with lines of one width; other blocks as they are."""
    if block.lstrip().startswith(("|", "#", "!", "`" * 3)):
        return block
    entries = re.split(rf"\n(?={ENTRY.pattern})", block)
    end = "\n" if block.endswith("\n") else ""
    return "\n".join(_wrapped(each) for each in entries) + end


def _wrapped(entry):
    mark = ENTRY.match(entry)
    return textwrap.fill(" ".join(entry.split()), WIDTH, subsequent_indent=" " * len(mark[0]) if mark else "", break_long_words=False,
                         break_on_hyphens=False)


def with_section(page, heading, body):
    """The page with another text below that heading."""
    parts = re.split(rf"(^{re.escape(heading)}\n)(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    if len(parts) != 4:
        raise Wrong(f"a page has not one heading \"{heading}\"")
    before, own, _, after = parts
    return f"{before}{own}\n{body.strip()}\n{after and chr(10)}{after}"
