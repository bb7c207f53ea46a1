"""Tasks side by side: those that wait beside one that compiles."""
import json
import math
import os
import selectors
import signal
import time
from pathlib import Path

from .task import CpuAccount, Ended, Running

TELL_SECONDS = 10
# A task may take so many times as long as it should.
SLOWER = 1.5


class Schedule:
    def __init__(self, tasks, out, ledger, tell, within=None):
        """ledger: a Ledger; tell(text): a line for the reader; within: the minutes that it has, or None."""
        self.within, self.began = within, time.monotonic()
        self.tasks = {task.name: task for task in tasks}
        self.out, self.ledger, self.tell = out, ledger, tell
        self.times_file = Path(out, "times.json")
        self.times = json.loads(self.times_file.read_text()) if self.times_file.exists() else {}
        self.processors = os.cpu_count() or 1
        self.waiting = dict(self.tasks)
        self.running = {}
        self.ended = {}  # name: Ended
        self.ways = {name: self.way(task) for name, task in self.tasks.items()}

    def seconds(self, task):
        return self.times.get(task.name, task.seconds)

    def followers(self, task):
        return [other for other in self.tasks.values() if task.name in other.needs + other.after]

    def way(self, task):
        """Seconds from its begin to the end of the last that needs it."""
        return self.seconds(task) + max(map(self.way, self.followers(task)), default=0)

    def behind(self, task):
        """The names of all that can't begin before it has ended."""
        followers = self.followers(task)
        return set().union(*map(self.behind, followers), (follower.name for follower in followers))

    def urgency(self, task):
        """Builds follow each other: first those that most work waits for, for each second of theirs (Smith's rule). So suites that
        mostly wait run beside builds, which fill the gaps."""
        if task.builds:
            waiting = sum(self.seconds(self.tasks[name]) * self.tasks[name].cores for name in self.behind(task))
            return waiting / max(1.0, self.seconds(task))
        return self.ways[task.name]

    # ---- what may begin
    def lacks(self, task):
        """A need of it that did not succeed."""
        return next((need for need in task.needs if need in self.ended and self.ended[need].verdict != "ok"), None)

    def fits(self, task):
        now = [running.task for running in self.running.values()]
        if task.builds:
            return not any(other.builds for other in now)
        if task.cores > self.processors or any(other.cores > self.processors for other in now):
            return not now
        if task.fills:
            # Such tasks wait for builds, which step back as well.
            builds = any(other.builds for other in (*now, *self.waiting.values()))
            return not builds and sum(other.fills for other in now) < self.processors
        busy = sum(other.cores for other in now if not other.steps_back)
        return busy == 0 or busy + task.cores <= self.processors

    def next(self):
        """The most urgent; or one that keeps it from nothing when it can begin (EASY backfilling)."""
        ready = [task for task in self.waiting.values() if all(name in self.ended for name in task.needs + task.after)]
        spare_seconds, spare_cores = math.inf, 0.0
        for task in sorted(ready, key=lambda task: (not task.spare, self.urgency(task)), reverse=True):
            leaves_room = task.steps_back or self.seconds(task) <= spare_seconds or task.cores <= spare_cores
            if self.lacks(task) or (self.fits(task) and leaves_room):
                return task
            if not task.steps_back and spare_seconds == math.inf:
                spare_seconds, spare_cores = self.room_beside(task)
        return None

    def room_beside(self, task):
        """(seconds until it fits, as enough of those that run will have ended; processors that nothing has then)"""
        now = sorted((self.left_of(running), running.task.cores) for running in self.running.values() if not running.task.steps_back)
        busy = sum(cores for _, cores in now)
        for left, cores in now:
            busy -= cores
            if busy == 0 or busy + task.cores <= self.processors:
                return left, self.processors - busy - task.cores
        return 0.0, 0.0

    def left_of(self, running):
        """Seconds: none of one that takes longer than it should."""
        return max(0.0, self.seconds(running.task) - (time.monotonic() - running.began))

    def begin_what_fits(self):
        while task := self.next():
            del self.waiting[task.name]
            if need := self.lacks(task):
                self.give_up(task, need)
                continue
            if self.is_too_late(task):
                self.leave_out(task)
                continue
            left = self.ledger.left_of(task) if task.once else task
            if not left:
                self.tell(f"{task.name}: passed before")
                task.forget()
                self.ended[task.name] = Ended("ok")
                continue
            self.tell(f"{task.name}: begins")
            self.running[task.name] = Running(left, Path(self.out, f"{task.lane}.log"))

    def is_too_late(self, task):
        """Whether a spare task, with all that follows it, would not end in time."""
        return (task.spare and self.within is not None and
                time.monotonic() - self.began + SLOWER * self.ways[task.name] > 60 * self.within)

    def leave_out(self, task):
        """Its lane's log says why."""
        text = f"{task.name} was left out: the run has {self.within:g} minutes"
        self.tell(text)
        with open(Path(self.out, f"{task.lane}.log"), "a") as log:
            log.write(f"{text}\n")
        self.ended[task.name] = Ended("SKIPPED")

    def give_up(self, task, need):
        """Its lane's log says why: it may have no other line."""
        verdict = self.ended[need].verdict
        with open(Path(self.out, f"{task.lane}.log"), "a") as log:
            log.write(f"{task.name} did not run: {need} {verdict}\n")
        self.ended[task.name] = Ended(verdict)

    # ---- the run
    def run(self):
        """{name: Ended}"""
        CpuAccount.sweep()
        with selectors.DefaultSelector() as selector:
            try:
                self.loop(selector)
            finally:
                for running in self.running.values():
                    running.stop()
                self.times_file.write_text(json.dumps(self.times, indent=1, sort_keys=True))
        return self.ended

    def loop(self, selector):
        told = time.monotonic()
        while True:
            self.begin_what_fits()
            for name, running in self.running.items():
                if running.descriptor not in selector.get_map():
                    selector.register(running.descriptor, selectors.EVENT_READ, name)
            if not self.running:
                return
            for key, _ in selector.select(max(0.0, told + TELL_SECONDS - time.monotonic())):
                selector.unregister(key.fd)
                self.end(key.data)
            if time.monotonic() - told >= TELL_SECONDS:
                told = time.monotonic()
                self.tell(self.progress())

    def end(self, name):
        ended = self.ended[name] = self.running.pop(name).end()
        if self.tasks[name].once:
            self.ledger.note(self.tasks[name], ended.verdict)
        if ended.verdict == "ok" and not self.tasks[name].fills and not self.ledger.before.get(name):
            self.times[name] = round(ended.seconds, 1)
        self.tell(f"{name}: {ended.verdict} after {ended.seconds:.0f} s")

    def progress(self):
        parts = []
        for name, running in self.running.items():
            steps = running.steps()
            parts.append(f"{name} {steps[0]}/{steps[1]}" if steps else name)
        return f"[{len(self.ended)}/{len(self.tasks)}] {', '.join(parts)}; about {self.left() / 60:.0f} min left"

    def left(self):
        """Seconds: the longest way, or all the work on all processors, whichever is more."""
        way, work = 0.0, 0.0
        for name, running in self.running.items():
            left = self.left_of(running)
            way = max(way, self.ways[name] - self.seconds(running.task) + left)
            work += left * self.load(running.task)
        for task in self.waiting.values():
            way = max(way, self.ways[task.name])
            work += self.seconds(task) * self.load(task)
        return max(way, work / self.processors)

    def load(self, task):
        return self.processors if task.builds else task.cores


def die_with_children():
    """SIGTERM ends a run like Ctrl-C: its tasks are stopped."""
    def stop(*_):
        raise KeyboardInterrupt
    signal.signal(signal.SIGTERM, stop)
