"""One command of a run: what it needs, what it writes, how far it is."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

# ninja, ctest and the suites print this for each step.
STEP = re.compile(rb"(?:^|\n|\r)\s*(?:\[\s*)?(\d+)/(\d+)(?:\]| Test)")
TAIL = 4000
SKIPPED = 77


@dataclass(frozen=True)
class Task:
    name: str
    lane: str
    command: tuple
    needs: tuple = ()  # names of tasks that have to have succeeded
    after: tuple = ()  # names of tasks that have to have ended, however
    cores: float = 1  # processors that it keeps busy
    seconds: int = 30  # that it takes on two processors: of a task never run here
    builds: bool = False  # one at a time, and behind all others
    fills: bool = False  # has what all others leave of the processors
    spare: bool = False  # comes last, and is left out where the run would take too long
    report: Path | None = None  # the JUnit file that it writes
    parts: Path | None = None  # the folder of the JUnit files of processes that are several tests
    environment: dict = field(default_factory=dict)
    again: object = None  # (names of tests, report) -> the command that runs these alone
    is_story: bool = False  # run again from its beginning, whichever of its tests failed
    once: object = None  # Suite or CTest: what is not run again with the same inputs once it has passed
    anew: tuple = ()  # words of its command by which it forgets what passed before

    @property
    def steps_back(self):
        return self.builds or self.fills

    def forget(self):
        """Removes what it has written in a former run."""
        if self.report:
            self.report.unlink(missing_ok=True)
        if self.parts:
            shutil.rmtree(self.parts, ignore_errors=True)

    def step_back(self):
        """Lowers the priority of the calling process."""
        os.nice(19 if self.fills else 10 if self.builds else 0)


class CpuAccount:
    """A cgroup that counts what a task's processes use, daemons also: it has no limits. Without cgroups of version 1 it is nothing."""
    ALL = Path("/sys/fs/cgroup/cpuacct")

    def __init__(self, name):
        self.folder = self.ALL / f"kuryr-run-{os.getpid()}-{name.replace(' ', '-')}"
        try:
            self.folder.mkdir()
        except OSError:
            self.folder = None

    @classmethod
    def sweep(cls):
        """Removes those of runs that have ended: a task's last processes may end later than the run."""
        for folder in cls.ALL.glob("kuryr-run-*"):
            if not Path("/proc", folder.name.split("-")[2]).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()

    def join(self):
        """The calling process, and those that it will start."""
        if self.folder:
            with contextlib.suppress(OSError):  # then it counts nothing
                (self.folder / "cgroup.procs").write_text("0")

    def close(self):
        """Seconds; 0 when nobody has counted."""
        seconds = 0
        if self.folder:
            with contextlib.suppress(OSError):  # a process of it still ends: the next run removes it
                seconds = int((self.folder / "cpuacct.usage").read_text()) / 1e9
                self.folder.rmdir()
        return seconds


@dataclass(frozen=True)
class Ended:
    verdict: str  # ok, FAILED, SKIPPED
    seconds: float = 0
    cpu_seconds: float = 0  # of its processes; where a cgroup can't count, without those that nobody waited for


class Running:
    """A task at work. Its output goes to the lane's log."""

    def __init__(self, task, log):
        self.task, self.log = task, log
        self.account = CpuAccount(task.name)
        self.began = time.monotonic()
        task.forget()
        with open(log, "ab") as out:
            out.write(f"\n== {task.name}: {' '.join(map(str, task.command))}\n".encode())
            out.flush()
            self.begin = out.tell()
            self.process = subprocess.Popen(task.command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                            env=os.environ | task.environment, start_new_session=True,
                                            preexec_fn=self.enter)
        self.descriptor = os.pidfd_open(self.process.pid)

    def enter(self):
        self.account.join()
        self.task.step_back()

    def end(self):
        """Reaps a task that has ended."""
        _, status, used = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        os.close(self.descriptor)
        return Ended({0: "ok", SKIPPED: "SKIPPED"}.get(self.process.returncode, "FAILED"), time.monotonic() - self.began,
                     self.account.close() or used.ru_utime + used.ru_stime)

    def stop(self):
        os.killpg(self.process.pid, signal.SIGTERM)

    def steps(self):
        """(done, total), or None before it has told."""
        with open(self.log, "rb") as said:
            said.seek(max(self.begin, os.stat(self.log).st_size - TAIL))
            found = STEP.findall(said.read())
        return tuple(map(int, found[-1])) if found else None
