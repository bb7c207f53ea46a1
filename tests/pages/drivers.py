"""docs/drivers.md beside the table of drivers: each has a picture, its options, and what it ran with, or never."""
import re

PAGE = "docs/drivers.md"
TABLE = "binding/drivers/drivers.h"
PARTS = {"picture": r"^```$", "options": r"[Oo]ption", "word of what it ran with": r"\b(ran|met)\b"}


def problems(files):
    """files: {path: text}"""
    page, table = files[PAGE], files[TABLE]
    sections = dict(part.split("\n", 1) for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:])
    names = {name for _, name in re.findall(r'(k\w+Driver)\[?\]? = "(\w+)"', table)}
    for name in sorted(names ^ set(sections)):
        yield f"{name}: is a driver or a section of {PAGE}, and not both"
    for name, text in sections.items():
        lacks = [what for what, pattern in PARTS.items() if not re.search(pattern, text, re.MULTILINE)]
        if lacks:
            yield f"{PAGE}: {name} has no {', no '.join(lacks)}"
