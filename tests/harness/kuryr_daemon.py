"""kuryr-daemon, run and asked as a service manager does."""
import collections
import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path

from harness import service
from harness.expectation import expect
from harness.host import HERE

HEALTH = "http://127.0.0.1:8090"
OVSDB_CONNECTION = "connection to ovsdb-server"
MOST_OVSDB_CONNECTIONS = 8 + 1  # those kept for the next calls, and the repair's, which follows the ports
# The agent's capabilities, as in cni/agent/capabilities.cc.
CAPABILITIES = {"dac_override": 1, "net_admin": 12, "sys_ptrace": 19, "sys_admin": 21}


def check_capabilities(pid):
    """Checks that a process has the agent's capabilities, and gets no others."""
    status = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    wanted = f"{sum(1 << number for number in CAPABILITIES.values()):016x}"
    found = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd")}
    expect(set(found.values()) == {wanted}, f"{found}, not {wanted}")
    expect(status["CapInh"] == status["CapAmb"] == f"{0:016x}", (status["CapInh"], status["CapAmb"]))
    expect(status["NoNewPrivs"] == "1", f"NoNewPrivs is {status['NoNewPrivs']}")


class KuryrDaemon:
    name = "kuryr-daemon"

    def __init__(self, program, conf, host=HERE):
        """conf: kuryr.conf's path. The log is agent.log among the host's files."""
        self.program, self.conf, self.host = program, conf, host
        self.process = None

    def start(self):
        """Ready when it returns."""
        with open(self.host.work / "agent.log", "ab") as log:
            self.process = service.started([self.program, "--config-file", self.conf],
                                           self.host.work / f"{Path(self.conf).stem}.ready", start=self.host.start,
                                           stdout=log, stderr=log)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Ends it in order."""
        self.process.terminate()
        self.process.wait()

    def status(self):
        return json.loads(self.host.run(self.program, "--config-file", self.conf, "status", "--json", check=False))

    def why_not_ready(self):
        """The reason; None when the agent is ready."""
        try:
            self.ask("/ready")
            return None
        except urllib.error.HTTPError as error:
            return error.read().decode(errors="replace").strip()
        except OSError as error:
            return str(error)

    def ask(self, path):
        with self.host.network(), urllib.request.urlopen(HEALTH + path, timeout=10) as answer:
            return answer.read().decode()

    def metrics(self):
        """{name with labels: value}"""
        lines = self.ask("/metrics").splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line[:1] != "#")}

    def forget_memory(self):
        """Begins to measure most_memory() anew (proc_pid_clear_refs(5))."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def most_memory(self):
        """MiB that the agent had at most at a time, since its start or since forget_memory()."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s*(\d+) kB", status)[1]) / 1024

    def census(self):
        """The numbers of descriptors of each kind, and of threads."""
        sockets = self.host.run("ss --unix --no-header").splitlines()
        # Columns: type, state, two queues, address, inode, peer's address, peer's inode.
        to_ovsdb = {f"socket:[{line.split()[7]}]" for line in sockets if "/db.sock " in line}
        found = collections.Counter(threads=len(os.listdir(f"/proc/{self.process.pid}/task")))
        for descriptor in Path(f"/proc/{self.process.pid}/fd").iterdir():
            try:
                kind = os.readlink(descriptor)
                found[OVSDB_CONNECTION if kind in to_ovsdb else re.sub(r"\d+", "N", kind)] += 1
            except FileNotFoundError:
                pass
        return found
