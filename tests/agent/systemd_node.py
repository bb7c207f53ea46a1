"""A node whose init is systemd, with kuryr-daemon, kuryr-controller and kuryr-devices installed by docs/install.md's commands."""
import os
import select
import shlex
import shutil
import subprocess
import time
from pathlib import Path

from agent.storm_node import storm_node
from harness.process import REPOSITORY, run
from harness.transcript import Transcript

UNITS = ("kuryr-daemon.service", "kuryr-daemon.socket")
SERVICE, SOCKET = UNITS
CONF = Path("/etc/kuryr/kuryr.conf")
INSTALLED = Path("/etc/systemd/system")
OWN_UNITS = Path("/run/test-units")
# Folders of the node that the clone is not in.
DATA_FOLDERS = tuple(folder for folder in ("/var/lib", "/var/log", "/srv") if not REPOSITORY.is_relative_to(folder))
# Debian's units that ours need; whatever else the machine has enabled stays out.
DEBIAN_UNITS = Path("/lib/systemd/system")
BORROWED = [*(f"{name}.target" for name in ("sysinit", "basic", "sockets", "timers", "paths", "slices", "local-fs", "swap",
                                            "network-online", "network", "multi-user", "shutdown", "umount")),
            "systemd-journald.service", "systemd-journald.socket", "systemd-journald-dev-log.socket"]
# The parent of nested pods' links.
PARENT = "parent0"
TEST_SECONDS = 1500  # on a machine that does much else; it takes 150 alone
EVENT_SECONDS = 60
TEST_UNIT = """[Unit]
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate
[Service]
Type=oneshot
ExecStart={command}
StandardOutput=tty
StandardError=inherit
TimeoutStartSec={seconds}
"""
DEFAULT_TARGET = """[Unit]
Requires=basic.target
Wants=test.service
"""


def commands_of_page():
    """{service: commands that install it, and one that starts it}"""
    page = Transcript("As services of systemd", "docs/install.md")
    commands = {service: page.take_commands() for service in (SERVICE, "kuryr-controller.service", "kuryr-devices.service")}
    page.finish()
    return commands


def become_systemd(test):
    """Gives the node its files, on a root that is read-only, and becomes a systemd that runs `test`."""
    for folder in ("/var/tmp", *DATA_FOLDERS):
        run("mount", "-t", "tmpfs", "tmpfs", folder)
    for folder in ("/etc", "/usr/sbin"):
        upper, work = (Path("/run/overlay", kind, folder[1:]) for kind in ("upper", "work"))
        upper.mkdir(parents=True)
        work.mkdir(parents=True)
        run("mount", "-t", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", "overlay", folder)
    run("mount", "-t", "tmpfs", "tmpfs", INSTALLED)
    for commands in commands_of_page().values():
        for command in commands[:-1]:
            run("bash", "-uc", command)
    OWN_UNITS.mkdir()
    for unit in BORROWED:
        (OWN_UNITS / unit).symlink_to(DEBIAN_UNITS / unit)
    (OWN_UNITS / "sysinit.target.wants").mkdir()
    (OWN_UNITS / "sysinit.target.wants/systemd-journald.service").symlink_to(DEBIAN_UNITS / "systemd-journald.service")
    (OWN_UNITS / "default.target").write_text(DEFAULT_TARGET)
    (OWN_UNITS / "test.service").write_text(TEST_UNIT.format(command=shlex.join(test), seconds=TEST_SECONDS))
    environment = {"PATH": os.environ["PATH"], "SYSTEMD_UNIT_PATH": f"{INSTALLED}:{OWN_UNITS}",
                   # Empty: systemd is in no container, even if the machine has a container's files.
                   "container": ""}
    os.execve("/lib/systemd/systemd", ["systemd", "--log-target=journal", "--show-status=no"], environment)


def start(service):
    """Enables and starts it by the page's command."""
    run("bash", "-uc", commands_of_page()[service][-1])


def systemctl(*arguments, **options):
    return run("systemctl", *arguments, **options)


def properties(unit, *names):
    """The values of a unit's properties."""
    lines = systemctl("show", unit, *(f"--property={name}" for name in names)).splitlines()
    found = dict(line.split("=", 1) for line in lines)
    return [found[name] for name in names]


def main_pid(unit=SERVICE):
    return int(properties(unit, "MainPID")[0])


def watchdog_time():
    """The time of the service's last message to its watchdog, in microseconds."""
    return int(properties(SERVICE, "WatchdogTimestampMonotonic")[0])


class Journal:
    """A service's lines from now on, its own and those of systemd."""

    def __init__(self, unit=SERVICE):
        self.unit = unit

    def __enter__(self):
        run("journalctl", "--sync")
        # The cursor of a line of this unit: with another unit's, the journal would skip the unit's next line.
        cursor = run("journalctl", "--lines=1", "--show-cursor", f"--unit={self.unit}").rsplit("-- cursor: ", 1)[1].strip()
        self.process = subprocess.Popen(["journalctl", "--follow", f"--after-cursor={cursor}", "--output=cat",
                                         f"--unit={self.unit}"], stdout=subprocess.PIPE)
        self.text = ""
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def wait_for(self, text, times=1):
        """Until the journal has the text that often."""
        deadline = time.monotonic() + EVENT_SECONDS
        while self.text.count(text) < times:
            left = deadline - time.monotonic()
            ready = left > 0 and select.select([self.process.stdout], [], [], left)[0]
            assert ready, f"not said {times} times in {EVENT_SECONDS} s: {text}; instead:\n{self.text[-2000:]}"
            self.text += os.read(self.process.stdout.fileno(), 1 << 16).decode(errors="replace")


def systemd_node(plugin, api):
    """A node whose agent is a service of systemd."""
    run(f"ip link add {PARENT} up type dummy")
    node = storm_node(plugin, api, binding={"link_iface": PARENT})
    CONF.parent.mkdir(exist_ok=True)
    shutil.copy(node.kuryr.usual_conf, CONF)
    start(SERVICE)
    return node
