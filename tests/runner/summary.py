"""The text that a run prints at its end."""
from . import report
from .retry import MOST, Failure, retry

LOG_LINES = 60


class Summary:
    def __init__(self, tasks, ended, before, out, tell):
        """ended: {name: Ended} of the tasks; before: {name: number of its tests that passed before}."""
        self.tasks, self.ended, self.before, self.out = tasks, ended, before, out
        self.passed, self.skipped, self.failures, self.broken = 0, [], [], []
        self.counts = {}
        for task in tasks:
            self.count(task, ended[task.name].verdict)
        for lane in dict.fromkeys(task.lane for task in self.broken):
            self.show_end(lane)
        self.flaky = retry(self.failures, out, tell)
        self.failed = [failure for failure in self.failures if failure not in self.flaky]

    def count(self, task, verdict):
        tests = report.read(task.report, task.parts) if task.report else []
        self.counts[task.name] = len(tests)
        failed = [Failure(task, test) for test in tests if test.verdict == "failed"]
        self.failures += failed
        self.passed += sum(test.verdict == "passed" for test in tests)
        self.skipped += [f"{task.name}: {test.name}: {report.reason(test)}" for test in tests if test.verdict == "skipped"]
        if verdict == "SKIPPED":
            self.skipped.append(f"{task.name}: {self.last_line(task.lane)}")
        elif verdict == "FAILED" and not failed:
            self.broken.append(task)
        elif verdict == "ok" and not tests and not task.builds and not self.before.get(task.name):
            self.passed += 1

    def last_line(self, lane):
        lines = (self.out / f"{lane}.log").read_text(errors="replace").split("\n")
        return next(filter(None, reversed(lines)), "no reason given")

    def show_end(self, lane):
        print(f"---- end of build/run/{lane}.log")
        lines = (self.out / f"{lane}.log").read_text(errors="replace").splitlines()
        print("\n".join(lines[-LOG_LINES:]) + "\n----")

    def ok(self):
        return not self.broken and not self.failed and len(self.flaky) <= MOST

    def print(self, seconds):
        print()
        for task in self.tasks:
            ended = self.ended[task.name]
            tests = f"  {self.counts[task.name]} tests" if self.counts[task.name] else ""
            before = f"  {self.before[task.name]} passed before" if self.before.get(task.name) else ""
            print(f"{task.name:26} {ended.verdict:7} {ended.seconds:5.0f} s {ended.cpu_seconds:5.0f} s of CPU{tests}{before}")
        for failure in self.failed:
            print(f"\n---- {failure.name}\n{failure.test.said.strip()[-4000:]}")
        self.print_list("skipped", self.skipped)
        self.print_list("failed", [task.name for task in self.broken] + [failure.name for failure in self.failed])
        self.print_list("FLAKY (failed, passed alone; both logs in build/run/flaky)", [each.name for each in self.flaky])
        print(f"\n{len(self.flaky)} flaky, {seconds / 60:.0f} min")
        print(f"{self.passed + len(self.flaky)} passed, {len(self.broken) + len(self.failed)} failed, {len(self.skipped)} skipped, "
              f"{sum(self.before.values())} passed before")

    @staticmethod
    def print_list(title, names):
        if names:
            print(f"\n{title}:\n  " + "\n  ".join(names))
