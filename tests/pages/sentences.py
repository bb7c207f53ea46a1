"""Sentences of pages and comments: which are too long to read aloud in one breath, and which do not name their subject."""
import re

MOST_WORDS = 30
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Paragraphs, entries of lists, rows of tables.
PART = re.compile(r"\n\s*\n|\n(?=[ ]*(?:[-*]|\d+\.) )|\n(?=\|)|(?<=\|)\n")
END = re.compile(r"(?<=[.?!])[\"')*]* +(?=[A-Za-z`\"*\[(])|(?<=:)\** +(?=[A-Z])")
# A sentence that begins with one of these names its subject elsewhere, or nowhere.
OPAQUE = r"(?:Of|Who|Whose|Nobody|Likewise|Nothing|The same)\b"
COMMENT_BEGIN = re.compile(rf"^\s*///?<?\s+{OPAQUE}|//.*[.:;] {OPAQUE}")


def too_long(pages, most=MOST_WORDS):
    """pages: {path: text}"""
    for page, text in pages.items():
        for sentence in sentences_of(text):
            words = len(sentence.split())
            if words > most:
                yield f"{page}: a sentence of {words} words: {sentence[:80]}..."


def opaque(pages):
    for page, text in pages.items():
        for sentence in sentences_of(text):
            if re.match(r"[^\w#]*" + OPAQUE, sentence):
                yield f"{page}: a sentence that does not name its subject: {sentence[:80]}..."


def opaque_comments(path, text):
    for number, line in enumerate(text.splitlines(), 1):
        if COMMENT_BEGIN.search(line):
            yield f"{path}:{number}"


def sentences_of(text):
    for part in PART.split(BLOCK.sub("\n\n", text)):
        for cell in re.split(r"(?<!\\)\|", part) if part.startswith("|") else [part]:
            plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"\s+", " ", cell)).strip()
            yield from END.split(plain)
