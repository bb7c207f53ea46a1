"""Expectations, and messages where they do not hold."""
import time

# Writers of Events give up soon, the kernel ends namespaces when it finds time.
END_SECONDS = 60
POLL_SECONDS = 0.1


class Failed(AssertionError):
    """The subject of a test does not do what it should."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def nothing(problems, what):
    """problems: texts, of which the first are told."""
    problems = list(problems)
    expect(not problems, f"{len(problems)} {what}: " + "; ".join(map(str, problems[:4]))[:2000])


def wait_for_none(find, what, seconds=END_SECONDS):
    """Until find() has nothing, where nobody tells when that is."""
    deadline = time.monotonic() + seconds
    while (found := find()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    nothing(found, what)


def differences(before, now, path=""):
    """Between two JSON values; empty when there is none."""
    if isinstance(before, dict) and isinstance(now, dict):
        parts = (differences(before.get(key), now.get(key), f"{path} {key}") for key in sorted({*before, *now}))
        return "; ".join(filter(None, parts))
    return "" if before == now else f"{path} was {before}, is {now}".lstrip()


def expect_same(before, now, name):
    difference = differences(before, now)
    expect(not difference, f"{name}: {difference}")
