"""Pages are run, not only read: their sh blocks as they stand, their console blocks against what they print."""
import doctest
import re
import subprocess
import textwrap
from pathlib import Path

from harness.process import run

RUNTIMES = "docs/runtimes.md"
# kubectl's last line where a pod's command fails, which is kubectl's own status then.
ENDED = re.compile(r"^command terminated with exit code (\d+)$", re.MULTILINE)


def read_sections(text):
    """{heading of level 2: its sh and console blocks, (kind, text)}; what stands before the first has the page's title."""
    sections = [part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.MULTILINE) if part]
    return {heading: [(kind, textwrap.dedent(block)) for _, kind, block in re.findall(
        r"^( *)```(sh|console)\n(.*?)^\1```$", body, flags=re.MULTILINE | re.DOTALL)] for heading, body in sections}


def commands_of(block):
    """One by one; a command goes on behind a backslash, and within quotation marks."""
    commands = []
    for line in block.splitlines(keepends=True):
        if commands and (commands[-1].endswith("\\\n") or commands[-1].count("'") % 2):
            commands[-1] += line
        else:
            commands.append(line)
    return [command.rstrip("\n") for command in commands if command.strip()]


class Transcript:
    def __init__(self, section, page=RUNTIMES, stand_ins=None):
        """`section`: the heading's text. stand_ins: {what the page calls it: what it is here}."""
        self._page = page
        self._stand_ins = stand_ins or {}
        self._blocks = read_sections(Path(page).read_text(encoding="utf-8"))[section]

    def next_block(self, facts):
        """Runs the section's next block. Each command of a console block is a fact."""
        kind, text = self._take()
        if kind == "sh":
            run("bash", "-euc", text)
            return
        for command in re.findall(r"^\$ (.*(?:\n(?!\$ ).*)*)\n", text, flags=re.MULTILINE):
            command, expected = _split(command)
            with facts.fact("$ " + command.split("\n", 1)[0].rstrip(" \\")):
                self._compare(command, expected)

    def take_commands(self):
        """Those of the next block, which is an sh block, to be run one by one."""
        kind, text = self._take()
        assert kind == "sh", f"{self._page} has a {kind} block: {text}"
        return commands_of(text)

    def finish(self):
        assert not self._blocks, f"{self._page} has more than was run: {self._blocks}"

    def _take(self):
        kind, text = self._blocks.pop(0)
        for name, here in self._stand_ins.items():
            text = re.sub(rf"\b{name}\b", here, text)
        return kind, text

    def _compare(self, command, expected):
        done = subprocess.run(["bash", "-uc", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        same = doctest.OutputChecker().check_output(expected.strip(), done.stdout.strip(), flags)
        assert same, f"{self._page} has\n{expected}\nbut it prints\n{done.stdout}"
        code = ENDED.search(expected)
        assert done.returncode == int(code[1] if code else 0), f"ended with {done.returncode}: {done.stdout}"


def _split(block):
    """A command, which goes on after a backslash, and what it has to print."""
    lines = block.split("\n")
    size = 1
    while lines[size - 1].endswith("\\"):
        size += 1
    return "\n".join(lines[:size]), "\n".join(lines[size:])
