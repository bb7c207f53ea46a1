"""Sentences of pages and comments: which are too long to read aloud in one breath, which stand twice, which comments do not name
their subject, and which pages use a word of the glossary without a link."""
import collections
import re

MOST_WORDS = 30
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Paragraphs, entries of lists, rows of tables.
PART = re.compile(r"\n\s*\n|\n(?=[ ]*(?:[-*]|\d+\.) )|\n(?=\|)|(?<=\|)\n")
# The address of a link, which the text names by a word.
ADDRESS = re.compile(r"^\[[\w-]+\]: \S+$", re.MULTILINE)
END = re.compile(r"(?<=[.?!])[\"')*]* +(?=[A-Za-z`\"*\[(])|(?<=:)\** +(?=[A-Z])")
# A comment that begins with one of these names its subject elsewhere, or nowhere.
OPAQUE = r"(?:Of|Who|Whose|Nobody|Likewise|Nothing|The same)\b"
COMMENT_BEGIN = re.compile(rf"^\s*///?<?\s+{OPAQUE}|//.*[.:;] {OPAQUE}")


def too_long(pages, most=MOST_WORDS):
    """pages: {path: text}"""
    for page, text in pages.items():
        for sentence in sentences_of(text):
            words = len(sentence.split())
            if words > most:
                yield f"{page}: a sentence of {words} words: {sentence[:80]}..."


def twice(pages, apart, least=8):
    """Sentences of at least `least` words in running text. The pages `apart` stand alone, so they may share sentences."""
    where = collections.defaultdict(list)
    for page, text in pages.items():
        for sentence in sentences_of(re.sub(r"^\|.*\n|^#.*\n", "\n", BLOCK.sub("\n\n", text), flags=re.MULTILINE)):
            if len(sentence.split()) >= least:
                where[sentence.lstrip("-* ")].append(page)
    for sentence, places in where.items():
        if len(places) > 1 and not set(places) <= apart:
            yield f"{' and '.join(places)} have one sentence, so link from one to the other: {sentence[:80]}..."


def unlinked(pages, words):
    """Pages that use one of `words` in running text, and have no link to docs/glossary.md."""
    for page, text in pages.items():
        prose = re.sub(r"`[^`]*`|^#.*", "", BLOCK.sub("", text), flags=re.MULTILINE)
        used = [word for word in words if re.search(rf"\b{word}s?\b", prose)]
        if used and "glossary.md" not in text and not page.endswith("/glossary.md"):
            yield f"{page}: says {', '.join(used)}; link the first one to docs/glossary.md"


def opaque_comments(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if COMMENT_BEGIN.search(line):
            yield f"{path}:{number}"


def sentences_of(text):
    for part in PART.split(ADDRESS.sub("", BLOCK.sub("\n\n", text))):
        for cell in re.split(r"(?<!\\)\|", part) if part.startswith("|") else [part]:
            plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"\s+", " ", cell)).strip()
            yield from END.split(plain)
