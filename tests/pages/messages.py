"""Messages that a page quotes, beside the strings of the code."""
import re

LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
CONSTANT = re.compile(r'\bk[A-Z]\w*(?:\[\])? = "((?:[^"\\\n]|\\.)*)"')
# The page has this for text that differs from case to case.
VARIES = "..."
# Length of a string that is one of several in a message. Shorter strings are in every text.
LEAST = 4


class Messages:
    def __init__(self, texts):
        """texts: of C++ sources. Strings that stand side by side are one."""
        texts = [re.sub(r'"\s*\n\s*"', "", re.sub(r"^ *#include.*$|//.*$", "", text, flags=re.MULTILINE)) for text in texts]
        constants = {_plain(one) for text in texts for one in CONSTANT.findall(text)}
        self._files = [_Strings({_plain(one) for one in LITERAL.findall(text)} | constants) for text in texts if '"' in text]

    def has(self, message):
        """Whether one file says it: each part between `...` is made of that file's strings, and of constants."""
        parts = [part.strip() for part in message.split(VARIES) if part.strip()]
        return any(all(strings.make(part) for part in parts) for strings in self._files)


class _Strings:
    def __init__(self, strings):
        self._all = "\0".join(["", *strings, ""])
        self._long = [one for one in strings if len(one) >= LEAST]

    def make(self, part):
        """Whether whole strings make the part; the first may lack its beginning and the last its end."""
        if part in self._all:
            return True
        reached = {end for end in range(LEAST, len(part)) if f"{part[:end]}\0" in self._all}
        done = set()
        while reached:
            at = reached.pop()
            done.add(at)
            if f"\0{part[at:]}" in self._all:
                return True
            reached |= {at + len(one) for one in self._long if part.startswith(one, at)} - done
        return False


def _plain(literal):
    return re.sub(r"\\(.)", r"\1", literal)
