"""What makes a passed test run again, and what does not. tests/format runs this."""
import os
import shutil
import subprocess
import tempfile
import unittest
from dataclasses import dataclass
from pathlib import Path

from . import inputs
from .ledger import Ledger
from .schedule import Schedule
from .summary import Summary
from .task import Task

TREE = {
    "tests/pods/run": '#!/usr/bin/python3\n"""Not tests/ports/run."""\nfrom harness import node\nnode.start("kuryr-cni", "etc/a.conf")\n',
    "tests/pods/table.txt": "1",
    "tests/harness/__init__.py": "",
    "tests/harness/node.py": 'from .host import HERE\nfrom . import service\nCASES = HERE / f"tests/data/{HERE}.json"\n',
    "tests/harness/host.py": "from pathlib import Path\nHERE = Path(__file__)\n",
    "tests/harness/service.py": "",
    "tests/ports/run": "#!/bin/bash\nbuild/release/bin/kuryr-daemon\n",
    "tests/data/case.json": "{}",
    "tests/pods/pods_test.cc": "int main() {}",
    "etc/a.conf": "",
    "etc/b.conf": "",
    "docs/ovn.md": "",
}
JUNIT = '<testsuite><testcase name="fact">{}</testcase></testsuite>'


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)


class InputsOfASuite(Folder):
    def setUp(self):
        super().setUp()
        for name, text in TREE.items():
            self.write(name, text)
        for name in ("kuryr-cni", "kuryr-daemon"):
            self.write(f"build/release/bin/{name}", name)
        self.write(".gitignore", "build/\n")
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)

    def state(self, *folders):
        return inputs.Inputs(self.folder).of_scripts(["tests/pods/run"], self.folder / "build/release", folders)

    def changes_with(self, name):
        before = self.state()
        self.write(name, (self.folder / name).read_text() + "\n")
        return self.state() != before

    def test_it_changes_with_each_file_that_the_suite_may_read_or_execute(self):
        for name in ("tests/pods/run", "tests/pods/table.txt", "tests/harness/__init__.py", "tests/harness/node.py",
                     "tests/harness/host.py", "tests/harness/service.py", "tests/data/case.json", "etc/a.conf",
                     "build/release/bin/kuryr-cni"):
            self.assertTrue(self.changes_with(name), name)

    def test_it_changes_with_a_new_file_beside_the_suite(self):
        before = self.state()
        self.write("tests/pods/new.txt", "")
        self.assertNotEqual(self.state(), before)

    def test_it_changes_with_a_folder_that_it_names_and_that_may_hold_sources_alone(self):
        self.write("tests/seeds/frame_fuzz.cc", "")
        before = self.state("tests/seeds")
        self.write("tests/seeds/arp.bin", "")
        self.assertNotEqual(self.state("tests/seeds"), before)

    def test_it_does_not_change_with_other_suites_programs_and_sources(self):
        for name in ("tests/ports/run", "etc/b.conf", "tests/pods/pods_test.cc", "build/release/bin/kuryr-daemon"):
            self.assertFalse(self.changes_with(name), name)


class InputsOfAProgram(Folder):
    def setUp(self):
        super().setUp()
        for name, text in TREE.items():
            self.write(name, text)
        self.write("build/dev/bin/fake-apiserver", "1")
        self.write("build/dev/bin/kuryr-cni", "1")
        self.write("source.c", 'const char* const kNames[] = {"/fake-apiserver", "/tests/data", "/etc/hosts", "see docs/ovn.md",'
                               '"https://example.org/docs/ovn.md#part", "kuryr-cni: failed"};\n'
                               'int main(int count, char** all) { return kNames[count] == all[0]; }\n')
        self.program = self.folder / "build/dev/bin/pods_test"
        subprocess.run(["gcc", "-g", "-o", self.program, self.folder / "source.c"], check=True)
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)

    def test_it_changes_with_its_bytes_the_programs_beside_it_and_the_data_that_it_names(self):
        states = [self.state()]
        self.write("build/dev/bin/fake-apiserver", "2")
        states.append(self.state())
        self.write("tests/data/case.json", "[]")
        states.append(self.state())
        with open(self.program, "ab") as program:
            program.write(b"\0")
        states.append(self.state())
        self.assertEqual(len(set(states)), 4)

    def test_it_does_not_change_with_what_its_messages_name(self):
        before = self.state()
        for name in ("etc/a.conf", "docs/ovn.md", "build/dev/bin/kuryr-cni"):
            self.write(name, "other")
        self.assertEqual(self.state(), before)

    def state(self):
        return inputs.Inputs(self.folder).of_program(str(self.program))


class Machine(Folder):
    def test_it_changes_with_a_package_and_with_the_environment_of_a_test(self):
        self.write("status", "Package: openvswitch-switch\nVersion: 3.1.0-2\n")
        before = inputs.machine(self.folder / "status")
        self.write("status", "Package: openvswitch-switch\nVersion: 3.1.0-3\n")
        after = inputs.machine(self.folder / "status")
        os.environ["KURYR_ROUNDS"] = "7"
        self.addCleanup(os.environ.pop, "KURYR_ROUNDS")
        self.assertEqual(len({before, after, inputs.machine(self.folder / "status")}), 3)


@dataclass
class Known:
    """Once: with the state that the test says."""
    state: str = "state"
    is_whole: bool = True

    def states(self):
        return {"suite": self.state}

    def unit_of(self, _test):
        return "suite"


class Runs(Folder):
    """Of one task, whose command counts how often it ran."""

    def setUp(self):
        super().setUp()
        (self.folder / "run").mkdir()
        self.once = Known()

    def run_it(self, verdict="", status=0, anew=False, again=None):
        """Whether tests/run would succeed."""
        report = self.folder / "report.xml"
        ledger = Ledger(self.folder / "passed", anew)
        command = ("bash", "-c", f"echo >>{self.folder}/runs; echo '{JUNIT.format(verdict)}' >{report}; exit {status}")
        task = Task("suite", "suite", command, report=report, once=self.once, again=again, is_story=True)
        ended = Schedule([task], self.folder / "run", ledger, lambda text: None).run()
        return Summary([task], ended, ledger.before, self.folder / "run", lambda text: None).ok()

    def count(self):
        return len((self.folder / "runs").read_text().splitlines())

    def test_what_passed_is_not_run_again(self):
        self.assertTrue(self.run_it() and self.run_it())
        self.assertEqual(self.count(), 1)

    def test_what_failed_is(self):
        self.assertFalse(self.run_it("<failure/>", 1) or self.run_it("<failure/>", 1))
        self.assertEqual(self.count(), 2)

    def test_what_was_skipped_is(self):
        self.run_it("<skipped/>")
        self.run_it("<skipped/>")
        self.assertEqual(self.count(), 2)

    def test_what_failed_after_its_tests_passed_is(self):
        self.assertFalse(self.run_it(status=1) or self.run_it(status=1))
        self.assertEqual(self.count(), 2)

    def test_what_was_flaky_is(self):
        def passing(_names, to):
            return "bash", "-c", f"echo '{JUNIT.format('')}' >{to}"

        self.assertTrue(self.run_it("<failure/>", 1, again=passing))
        self.assertTrue(self.run_it())
        self.assertEqual(self.count(), 2)

    def test_with_other_inputs_it_is(self):
        self.run_it()
        self.once = Known("other")
        self.run_it()
        self.assertEqual(self.count(), 2)

    def test_with_unknown_inputs_it_is(self):
        self.once = Known(None)
        self.run_it()
        self.run_it()
        self.assertEqual(self.count(), 2)

    def test_when_its_inputs_changed_meanwhile_it_is(self):
        states = iter(("state", "changed", "state"))
        self.once.states = lambda: {"suite": next(states)}
        self.run_it()
        self.once = Known()
        self.run_it()
        self.assertEqual(self.count(), 2)

    def test_anew_it_is_and_a_failure_then_is_remembered(self):
        self.assertTrue(self.run_it())
        self.assertFalse(self.run_it("<failure/>", 1, anew=True))
        self.assertTrue(self.run_it())
        self.assertEqual(self.count(), 3)


if __name__ == "__main__":
    unittest.main()
