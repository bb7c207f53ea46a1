"""Facts that hold for any unit that this repository ships, and steps of a suite with it."""
import os
import signal
import subprocess
from pathlib import Path

from agent import systemd_node
from agent.systemd_node import INSTALLED, OWN_UNITS, Journal, main_pid, properties, systemctl
from harness.process import run


def verify(fact, service, most_exposure, *others):
    """most_exposure: the service's, in tenths, of 10 at the worst; others: units that are verified with it."""
    environment = {**os.environ, "SYSTEMD_UNIT_PATH": f"{INSTALLED}:{OWN_UNITS}"}
    files = [str(INSTALLED / unit) for unit in (service, *others)]
    with fact(f"systemd-analyze verify has nothing to say of {' and '.join((service, *others))}; the service's exposure is at most "
              f"{most_exposure / 10}"):
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", *files], env=environment, text=True,
                              capture_output=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, ""), done.stdout + done.stderr
        said = run("systemd-analyze", "security", "--no-pager", "--offline=yes", f"--threshold={most_exposure}", files[0],
                   env=environment)
        print("        " + said.strip().rsplit("\n", 1)[-1], flush=True)


def drop_in(service, text):
    """Gives the service a drop-in, whose file is returned."""
    file = INSTALLED / f"{service}.d/test.conf"
    file.parent.mkdir()
    file.write_text(text)
    systemctl("daemon-reload")
    return file


def start(service):
    """Starts it; it is ready by its own word."""
    systemd_node.start(service)
    found = properties(service, "Type", "ActiveState", "SubState", "Result", "NRestarts")
    assert found == ["notify", "active", "running", "success", "0"], found


def status_of(service):
    """/proc/PID/status of a service that has no capability, gets none, and whose system calls are filtered."""
    lines = Path(f"/proc/{main_pid(service)}/status").read_text().splitlines()
    status = dict(line.split(":\t", 1) for line in lines)
    found = {name: status[name] for name in ("CapPrm", "CapEff", "CapBnd", "CapInh", "CapAmb")}
    assert set(found.values()) == {f"{0:016x}"}, found
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
    return status


def kill(service):
    """Kills it; returns when systemd has started it anew."""
    before = main_pid(service)
    with Journal(service) as journal:
        os.kill(before, signal.SIGKILL)
        journal.wait_for(f"Started {service}")
    assert main_pid(service) not in (0, before), "not restarted"


def stop(service):
    systemctl("disable", "--now", "--quiet", service)
    found = properties(service, "ActiveState", "Result")
    assert found == ["inactive", "success"], found
