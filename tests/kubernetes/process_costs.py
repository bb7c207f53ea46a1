"""What processes cost: CPU, and bytes that they read and write, sockets among them (proc_pid_io(5))."""
import os
import time
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
LOOK_SECONDS, MOST_LOOKS = 2, 15
# Of a processor, of all processes together.
IDLE = 0.05


class Costs:
    def __init__(self, processes):
        """processes: {name: pid}"""
        self.processes = processes

    def of(self, act):
        """{name: (seconds of CPU, bytes read, bytes written)} of act(), and of the work that it leaves for later."""
        before = self.now()
        act()
        self.settle()
        return {name: tuple(now - then for now, then in zip(values, before[name])) for name, values in self.now().items()}

    def settle(self):
        """Until all are idle, or busy with something else for long."""
        used = self.used()
        for _ in range(MOST_LOOKS):
            time.sleep(LOOK_SECONDS)
            used, before = self.used(), used
            if used - before < IDLE * LOOK_SECONDS:
                return

    def used(self):
        return sum(processor_seconds(pid) for pid in self.processes.values())

    def now(self):
        return {name: (processor_seconds(pid), *_bytes(pid)) for name, pid in self.processes.items()}


def processor_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def _bytes(pid):
    values = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(values["rchar"]), int(values["wchar"])


def of_a_pod(costs, count):
    """{name: {figure: value}} of one of `count` pods, for JSON."""
    return {name: {"cpu_ms": 1000 * cpu / count, "read_kib": read / 1024 / count, "written_kib": written / 1024 / count}
            for name, (cpu, read, written) in costs.items()}


def table(coming, going, count):
    """What costs of `count` pods are for each, as lines for a reader."""
    lines = [f"{'of a pod':24} {'comes: ms CPU':>14} {'KiB read':>9} {'written':>8} {'goes: ms CPU':>13} {'KiB read':>9} {'written':>8}"]
    ends = of_a_pod(going, count)
    for name, begin in of_a_pod(coming, count).items():
        lines.append(f"{name:24} {begin['cpu_ms']:14.1f} {begin['read_kib']:9.1f} {begin['written_kib']:8.1f} "
                     f"{ends[name]['cpu_ms']:13.1f} {ends[name]['read_kib']:9.1f} {ends[name]['written_kib']:8.1f}")
    return "\n".join(lines)
