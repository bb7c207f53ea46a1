"""docs/runtimes.md is run, not only read: its sh blocks as they stand, its console blocks against what they print."""
import doctest
import re
import subprocess
from pathlib import Path

from harness.process import run

PAGE = Path("docs/runtimes.md")


class Transcript:
    def __init__(self, section):
        """`section`: the heading's text."""
        sections = re.split(r"^## ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
        (text,) = [text for text in sections if text.split("\n")[0] == section]
        self._blocks = re.findall(r"^```(sh|console)\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)

    def next_block(self, facts):
        """Runs the section's next block. Each command of a console block is a fact."""
        kind, text = self._blocks.pop(0)
        if kind == "sh":
            run("bash", "-euc", text)
            return
        for command in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)\n", text, flags=re.MULTILINE):
            command, expected = _split(command)
            with facts.fact("$ " + command.split("\n", 1)[0].rstrip(" \\")):
                _compare(command, expected)

    def finish(self):
        assert not self._blocks, f"{PAGE} has more than was run: {self._blocks}"


def _split(block):
    """A command, which goes on after a backslash, and what it has to print."""
    lines = block.split("\n")
    size = 1
    while lines[size - 1].endswith("\\"):
        size += 1
    return "\n".join(lines[:size]), "\n".join(lines[size:])


def _compare(command, expected):
    done = subprocess.run(["bash", "-uc", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, check=False)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(expected.strip(), done.stdout.strip(), flags)
    assert same, f"{PAGE} has\n{expected}\nbut it prints\n{done.stdout}"
    assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}"
