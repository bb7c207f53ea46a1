"""A test that failed is run once more, alone: one that passes then is flaky."""
import os
import subprocess
from dataclasses import dataclass

from . import report

# So many may be flaky in a run that passes; of more nobody asks which.
MOST = 5


@dataclass(frozen=True)
class Failure:
    task: object
    test: report.Test

    @property
    def name(self):
        return f"{self.task.name}: {self.test.name}"

    @property
    def subject(self):
        """The task or process that is run again for it."""
        return self.task.name if self.task.is_story else f"{self.task.name}: {self.test.process}"


def retry(failures, out, tell):
    """Those that pass the second time. Both logs are kept in the folder out/flaky. A story is told once for all its failures."""
    if len(failures) > MOST:
        return []
    passed = {}
    for failure in failures:
        keep_first_log(failure, out / "flaky")
        if failure.task.again and failure.subject not in passed:
            tell(f"{failure.subject}: failed, and is run once more, alone")
            passed[failure.subject] = run_again(failure, out / "flaky")
    return [failure for failure in failures if failure.test.name in passed.get(failure.subject, ())]


def stem_of(failure):
    return "".join(letter if letter.isalnum() else "-" for letter in failure.name)[:100]


def keep_first_log(failure, folder):
    folder.mkdir(exist_ok=True)
    (folder / f"{stem_of(failure)}.first.log").write_text(failure.test.said)


def run_again(failure, folder):
    """The names of the tests that passed, and of their process where all did: what ends by a signal fails under that name."""
    stem = stem_of(failure)
    result = folder / f"{stem}.xml"
    result.unlink(missing_ok=True)
    with open(folder / f"{stem}.second.log", "wb") as log:
        subprocess.run(failure.task.again([failure.test.process], result), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                       env=os.environ | failure.task.environment, check=False)
    tests = report.read(result, failure.task.parts)
    passed = {test.name for test in tests if test.verdict == "passed"}
    if passed and all(test.verdict in ("passed", "skipped") for test in tests):
        passed.add(failure.test.process)
    return passed
