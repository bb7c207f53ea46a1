"""Pages are run, not only read: their sh blocks as they stand, their console blocks against what they print."""
import doctest
import re
import subprocess
from pathlib import Path

from harness.process import run

RUNTIMES = "docs/runtimes.md"


class Transcript:
    def __init__(self, section, page=RUNTIMES):
        """`section`: the heading's text."""
        self._page = page
        sections = re.split(r"^## ", Path(page).read_text(encoding="utf-8"), flags=re.MULTILINE)
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
                self._compare(command, expected)

    def take_commands(self):
        """Those of the next block, which is an sh block, to be run one by one."""
        kind, text = self._blocks.pop(0)
        assert kind == "sh", f"{self._page} has a {kind} block: {text}"
        return re.findall(r"^(?:.*\\\n)*.+$", text, flags=re.MULTILINE)

    def finish(self):
        assert not self._blocks, f"{self._page} has more than was run: {self._blocks}"

    def _compare(self, command, expected):
        done = subprocess.run(["bash", "-uc", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        same = doctest.OutputChecker().check_output(expected.strip(), done.stdout.strip(), flags)
        assert same, f"{self._page} has\n{expected}\nbut it prints\n{done.stdout}"
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout}"


def _split(block):
    """A command, which goes on after a backslash, and what it has to print."""
    lines = block.split("\n")
    size = 1
    while lines[size - 1].endswith("\\"):
        size += 1
    return "\n".join(lines[:size]), "\n".join(lines[size:])
