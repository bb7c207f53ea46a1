"""Commands that pages show: each block is run by a test, and the programs have the words."""
import re

from harness.transcript import RUNTIMES, commands_of, read_sections
from runner import lanes, long

RUN_BY_PYTHON = re.compile(r'Transcript\("([^"]+)"(?:, (?:"([^"]+)"|str\(PAGE\)))?')
PAGE = re.compile(r'^PAGE = Path\("([^"]+)"\)', re.MULTILINE)
# Of a module that runs equal sections of several pages.
PAGES = re.compile(r'^PAGES = \((.*)\)$', re.MULTILINE)
COMPARED_BY_PYTHON = re.compile(r'^SHOWN_COMMAND = "([^"]*)"', re.MULTILINE)
COMPARED_BY_CPP = re.compile(r'"\$ ([^"\\]*)\\n"')
PROGRAMS = {"kuryr-cni": "cni/plugin", "kuryr-daemon": "cni/agent", "kuryr-controller": "controller/commands",
            "kuryr-devices": "devices/commands"}
SHARED = "service/"
# A program at the beginning of a command, with the words and options that follow.
CALL = re.compile(r"(?:^|[|;$] |/)(kuryr-(?:cni|daemon|controller|devices))((?: [a-z]+(?:-[a-z]+)*| --[a-z-]+)+)", re.MULTILINE)
# Options that the library for command lines gives every program; and words behind a program's name in messages.
USUAL = {"--help", "--version", "is", "of", "for"}


def unclaimed(pages, files):
    """Sections whose blocks no test runs. pages, files: {path: text}."""
    run = _sections_run(files)
    compared = {command for path, text in files.items() if path.endswith("_test.cc") for command in COMPARED_BY_CPP.findall(text)}
    compared |= {command for path, text in files.items() if path.startswith("tests/") for command in COMPARED_BY_PYTHON.findall(text)}
    of_lanes = _commands_of_lanes(files)
    for page, text in pages.items():
        for section, blocks in read_sections(text).items():
            for kind, block in blocks:
                commands = re.findall(r"^\$ (.*)", block, re.MULTILINE) if kind == "console" else _plain(commands_of(block))
                known = compared if kind == "console" else of_lanes
                if (section, page) not in run and not set(commands) <= known:
                    yield f"{page}, \"{section}\": no test runs {commands[0]}"


def _sections_run(files):
    found = set()
    for path, text in files.items():
        if path.startswith("tests/") and "Transcript(" in text:
            page, several = PAGE.search(text), PAGES.search(text)
            usual = re.findall(r'"([^"]+)"', several[1]) if several else [page[1] if page else RUNTIMES]
            found |= {(section, each) for section, named in RUN_BY_PYTHON.findall(text) for each in ([named] if named else usual)}
    return found


def _commands_of_lanes(files):
    """As a user writes them: without the options that lanes add; all of them, and what tests/demo installs."""
    tasks = [task for kind in (lanes, long) for lane in kind.LANES for task in kind.tasks_of(lane)] + list(lanes.BASES.values())
    words = [task.command[-1] if task.command[0] == "bash" else " ".join(map(str, task.command)) for task in tasks]
    packages = re.findall(r"tests/packages \w+", files["tests/demo"])
    return {re.sub(r" -D (?:'[^']*'|\S+)| && true$", "", each) for each in words} | {"tests/run", *packages}


def _plain(commands):
    return [re.sub(r"\s+#.*", "", command) for command in commands]


def unknown_words(pages, files):
    """Commands and options that pages give the programs, and that these do not take."""
    words = {program: _words(files, folder) for program, folder in PROGRAMS.items()}
    for page, text in pages.items():
        for program, rest in CALL.findall(_code(text)):
            for word in rest.split():
                if word.startswith("--") and word not in words[program]:
                    yield f"{page}: {program} has no {word}"
            first = rest.split()[0]
            if not first.startswith("-") and first not in words[program]:
                yield f"{page}: {program} has no command {first}"


def _code(text):
    """The code of a page: text between backquotes, and blocks of commands."""
    blocks = [block for blocks in read_sections(text).values() for _, block in blocks]
    inline = re.findall(r"(?<!`)`([^`\n]+)`(?!`)", re.sub(r"^ *```.*?^ *```", "", text, flags=re.MULTILINE | re.DOTALL))
    return "\n".join([*blocks, *inline])


def _words(files, folder):
    found = set(USUAL)
    for path, text in files.items():
        if path.startswith((folder, SHARED)) and path.endswith((".cc", ".h")):
            found |= set(re.findall(r'"(--[a-z-]+)[", ]', text)) | set(re.findall(r'AddCommand\(\s*"([\w-]+)"', text))
            found |= set(re.findall(r',(--[a-z-]+)', text))
    return found
