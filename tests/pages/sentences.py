"""Sentences of pages, and which of them nobody reads aloud in one breath."""
import re

MOST_WORDS = 30
BLOCK = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
# Paragraphs, entries of lists, rows of tables.
PART = re.compile(r"\n\s*\n|\n(?=[ ]*(?:[-*]|\d+\.) )|\n(?=\|)|(?<=\|)\n")
END = re.compile(r"(?<=[.?!])[\"')*]* +(?=[A-Za-z`\"*\[(])|(?<=:)\** +(?=[A-Z])")


def too_long(pages):
    """pages: {path: text}"""
    for page, text in pages.items():
        for sentence in sentences_of(text):
            words = len(sentence.split())
            if words > MOST_WORDS:
                yield f"{page}: a sentence of {words} words: {sentence[:80]}..."


def sentences_of(text):
    for part in PART.split(BLOCK.sub("\n\n", text)):
        for cell in re.split(r"(?<!\\)\|", part) if part.startswith("|") else [part]:
            plain = re.sub(r"\]\([^)]*\)", "]", re.sub(r"\s+", " ", cell)).strip()
            yield from END.split(plain)
