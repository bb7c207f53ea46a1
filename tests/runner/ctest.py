"""The tests that ctest knows of a preset."""
import dataclasses
import functools
import json
import subprocess

from .inputs import ROOT, Inputs, digest_of, machine


class CTest:
    """Its units are the processes that ctest starts for the tests with a label: each is run once with the same program."""
    is_whole = False

    def __init__(self, preset, label, numbers):
        """label: a regular expression, as ctest -L takes it; numbers: a file, by which ctest is told what to run."""
        self.preset, self.label, self.numbers = preset, label, numbers

    @functools.cached_property
    def tests(self):
        """[(number, test)], the latter as ctest describes it. Ask when they are built."""
        told = subprocess.run(["ctest", "--preset", self.preset, "-L", self.label, "--show-only=json-v1"], cwd=ROOT,
                              stdout=subprocess.PIPE, check=True)
        return [(number, test) for number, test in enumerate(json.loads(told.stdout)["tests"], 1) if test.get("command")]

    def states(self):
        """{name: state, or None where its inputs are not known}"""
        inputs, common = Inputs(), (machine(), (ROOT / "CMakePresets.json").read_text())
        bin_folder = f"{ROOT}/build/{self.preset}/bin/"
        states = {program: inputs.of_program(program) for program in {test["command"][0] for _, test in self.tests}
                  if program.startswith(bin_folder)}
        return {test["name"]: program and digest_of(*common, program, str([test["command"], test["properties"]]).replace(str(ROOT), ""))
                for _, test in self.tests for program in (states.get(test["command"][0]),)}

    @staticmethod
    def unit_of(test):
        return test.process

    def only(self, task, names):
        return dataclasses.replace(task, command=(*task.command[:task.command.index("-L")], *self.selection(names)))

    def selection(self, names):
        """ctest's options for the tests of these names."""
        numbers = [str(number) for number, test in self.tests if test["name"] in names]
        # Without the end of the line ctest passes over the last number.
        self.numbers.write_text("0,0,0," + ",".join(numbers) + "\n")
        return "-L", self.label, "-I", str(self.numbers)
