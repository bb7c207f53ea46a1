"""Clients that plug and unplug pods without a pause."""
import collections
import threading

from harness.expectation import Failed
from harness.process import run

PROGRESS_SECONDS = 60


class Load:
    """Runs within its block. A client has one pod, whose sandbox is another each time."""

    def __init__(self, node, pods):
        self.node = node
        self.over = threading.Event()
        self.progress = threading.Condition()
        self.ends = collections.Counter()  # (command, error code or 0)
        self.problems = []
        self.threads = [threading.Thread(target=self.work, args=(pod,)) for pod in pods]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for thread in self.threads:
            thread.join()
        print("        " + ", ".join(f"{count} times {command} {code or 'ok'}"
                                     for (command, code), count in sorted(self.ends.items())), flush=True)

    def count(self):
        with self.progress:
            return self.ends.total()

    def wait_for(self, calls):
        """Until so many more have ended."""
        wanted = self.count() + calls
        with self.progress:
            assert self.progress.wait_for(lambda: self.problems or self.ends.total() >= wanted, PROGRESS_SECONDS), \
                f"{calls} calls did not end in {PROGRESS_SECONDS} s"

    def work(self, pod):
        while not self.over.is_set():
            made = self.node.attachment(pod=pod)
            try:
                self.end("ADD", made.add())
                self.end("DEL", made.delete())
            except Failed as wrong:
                self.problem(f"{pod.name}: {wrong}")
                return
            finally:
                run("ip", "netns", "delete", made.netns)

    def end(self, command, answer):
        code = 0 if answer.succeeded() else answer.error()["code"]
        with self.progress:
            self.ends[command, code] += 1
            self.progress.notify_all()

    def problem(self, text):
        with self.progress:
            self.problems.append(text)
            self.progress.notify_all()

    def failures(self, but=()):
        """but: the codes that calls may fail with."""
        return self.problems + [f"{count} times {command} {code}" for (command, code), count in sorted(self.ends.items())
                                if code and code not in but]
