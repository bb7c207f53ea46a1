"""What passed before: with the same bytes it is not run again."""
import json
import os
import time
from dataclasses import dataclass

from . import report
from .inputs import CACHE, ROOT, Inputs, digest_of, machine

KEPT_SECONDS = 30 * 24 * 3600


class Ledger:
    """A folder with a file for each state of inputs: the names of what passed with it, and the numbers of their tests. What failed,
    was skipped, or passed only when it ran again, is in none. anew: nothing has passed."""

    def __init__(self, folder=CACHE / "passed", anew=False):
        self.folder, self.anew = folder, anew
        self.folder.mkdir(parents=True, exist_ok=True)
        for old in self.folder.iterdir():
            if time.time() - old.stat().st_mtime > KEPT_SECONDS:
                old.unlink(missing_ok=True)
        self.before = {}  # name of a task: number of its tests that passed before
        self.left = {}  # name of a task: {unit: state} of what it runs

    def left_of(self, task):
        """The task without what passed before; None: all of it did."""
        states = task.once.states()
        passed = {unit: count for unit, state in states.items() if (count := self.passed(state).get(unit))}
        self.before[task.name] = sum(passed.values())
        self.left[task.name] = {unit: state for unit, state in states.items() if unit not in passed}
        if not passed:
            return task
        return task.once.only(task, self.left[task.name]) if self.left[task.name] else None

    def note(self, task, verdict):
        """Of a task that has ended: what passed with inputs that are still the same."""
        tests = report.read(task.report, task.parts) if task.report else []
        states = task.once.states()
        for unit, state in self.left[task.name].items():
            own = [test for test in tests if task.once.unit_of(test) == unit]
            passed = all(test.verdict == "passed" for test in own) and (verdict == "ok" or not task.once.is_whole)
            if own or task.once.is_whole:
                self.write(state, unit, max(1, len(own)) if passed and states.get(unit) == state else 0)

    def passed(self, state):
        """{unit: number of its tests}"""
        file = self.folder / str(state)
        if self.anew or not state or not file.exists():
            return {}
        os.utime(file)
        return json.loads(file.read_text())

    def write(self, state, unit, count):
        """count: 0 if it did not pass."""
        if not state:
            return
        file, new = self.folder / state, self.folder / f"{state}.{os.getpid()}"
        known = json.loads(file.read_text()) if file.exists() else {}
        if known.get(unit, 0) != count:
            new.write_text(json.dumps({each: number for each, number in (known | {unit: count}).items() if number}))
            new.replace(file)


@dataclass(frozen=True)
class Suite:
    """A command is one unit: it is run once with the same words, scripts and programs."""
    name: str
    command: tuple
    programs: tuple = ()  # patterns of their paths: test programs that it executes
    folders: tuple = ()  # of the tree, which it reads beside its own
    is_whole = True

    def states(self):
        """{unit: state, or None where its inputs are not known}"""
        inputs = Inputs()
        words = [word for before, word in zip(("", *self.command), self.command) if before not in ("--logs", "--junit")]
        scripts = [word for word in words if word in inputs.files]
        programs = [inputs.of_program(file) for pattern in self.programs for file in sorted(ROOT.glob(pattern))]
        return {self.name: digest_of(machine(), *words, inputs.of_scripts(scripts, ROOT / "build/release", self.folders), *programs)}

    def unit_of(self, _test):
        return self.name
