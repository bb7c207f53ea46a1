"""In which order tasks begin, and which are left out. tests/format runs this."""
import tempfile
import unittest
from pathlib import Path

from .ledger import Ledger
from .schedule import Schedule
from .task import Task


class ScheduleTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder, self.told = Path(folder.name), []

    def run_all(self, tasks, within=None):
        """{name: verdict}"""
        ended = Schedule(tasks, self.folder, Ledger(anew=True), self.told.append, within).run()
        return {name: each.verdict for name, each in ended.items()}

    def task(self, name, **fields):
        return Task(name, name, ("true",), cores=9, **fields)

    def test_spare_tasks_come_last(self):
        self.run_all([self.task("spare", seconds=900, spare=True), self.task("needed")])

        self.assertEqual([text for text in self.told if "begins" in text], ["needed: begins", "spare: begins"])

    def test_what_would_not_end_in_time_is_left_out_with_what_needs_it(self):
        verdicts = self.run_all([self.task("needed", seconds=900), self.task("spare", seconds=900, spare=True),
                                 self.task("behind", needs=("spare",), spare=True), self.task("quick", seconds=1, spare=True)], within=5)

        self.assertEqual(verdicts, {"needed": "ok", "spare": "SKIPPED", "behind": "SKIPPED", "quick": "ok"})
        self.assertIn("spare was left out: the run has 5 minutes", self.told)
        self.assertIn("left out", (self.folder / "spare.log").read_text())

    def test_without_a_limit_nothing_is(self):
        self.assertEqual(self.run_all([self.task("spare", seconds=90000, spare=True)]), {"spare": "ok"})


if __name__ == "__main__":
    unittest.main()
