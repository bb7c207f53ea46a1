"""What processes use of a machine."""
import re
import time
from pathlib import Path


class Usage:
    """What an agent has used so far."""

    def __init__(self, agent):
        # clock_getcpuclockid(3): the clock of a process, with its threads that have ended.
        self.cpu = time.clock_gettime((~agent.process.pid << 3) | 2) * 1000
        self.sleeps = sum(map(sleeps_of, Path(f"/proc/{agent.process.pid}/task").iterdir()))
        self.memory = int(re.search(r"VmRSS:\s*(\d+)", Path(f"/proc/{agent.process.pid}/status").read_text())[1]) / 1024


def sleeps_of(task):
    """How often the thread went to sleep; 0 for one that has just ended."""
    try:
        return int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", (task / "status").read_text(), re.M)[1])
    except (FileNotFoundError, ProcessLookupError):
        return 0
