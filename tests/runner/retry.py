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


def retry(failures, out, tell):
    """Those that pass the second time. Both logs are kept in the folder out/flaky."""
    if len(failures) > MOST:
        return []
    flaky = []
    for failure in failures:
        if not failure.task.again:
            continue
        tell(f"{failure.name}: failed, and is run once more, alone")
        if passes(failure, out / "flaky"):
            flaky.append(failure)
    return flaky


def passes(failure, folder):
    folder.mkdir(exist_ok=True)
    stem = "".join(letter if letter.isalnum() else "-" for letter in failure.name)[:100]
    (folder / f"{stem}.first.log").write_text(failure.test.said)
    result = folder / f"{stem}.xml"
    result.unlink(missing_ok=True)
    with open(folder / f"{stem}.second.log", "wb") as log:
        subprocess.run(failure.task.again([failure.test.name], result), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                       env=os.environ | failure.task.environment, check=False)
    return any(test.name == failure.test.name and test.verdict == "passed" for test in report.read(result))
