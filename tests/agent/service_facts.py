"""Facts of kuryr-daemon as a service of systemd."""
import json
import os
import signal
import stat
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from agent import controller_service, devices_service, sandbox, service_unit
from agent.service_load import Load
from agent.systemd_node import (CONF, EVENT_SECONDS, SERVICE, SOCKET, UNITS, Journal, main_pid, properties,
                                systemctl, systemd_node, watchdog_time)
from harness.expectation import expect_same, nothing
from harness.kube_api import FakeApiServer, make_certificates
from harness.namespaces import WORK
from harness.pod import ANNOTATION, Plan
from harness.process import REPOSITORY, run

RUNNING, CLIENTS = 2, 3
# Names in tests/data/vif-samples.
KINDS = ("ovs-hybrid-bridge-ipv4-inactive", "nested-macvlan-ipv4-active", "nested-vlan-ipv4-active")
RESTARTS, KILLS = 6, 3
# By default systemd lets a unit fail less often in 10 s.
FAILED_STARTS = 6
CALLS_BETWEEN = 6
# In tenths, of 10 at the worst: the agent configures the node's network as root.
MOST_EXPOSURE = 35
POLL_SECONDS = 0.1
WATCHDOG = "[Service]\nWatchdogSec=5\n"
SOCKET_PATH = Path("/run/kuryr/kuryr-daemon.sock")
STATUS_SOCKET_PATH = Path("/run/kuryr/kuryr-daemon-status.sock")
SO_ACCEPTCON = 1 << 16
NOBODY = "65534"
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"


def listener():
    """The inode of the socket that listens at SOCKET_PATH."""
    fields = [line.split() for line in Path("/proc/net/unix").read_text().splitlines()]
    found = [field[6] for field in fields if field[7:] == [str(SOCKET_PATH)] and int(field[3], 16) & SO_ACCEPTCON]
    assert len(found) == 1, f"{len(found)} sockets listen at {SOCKET_PATH}"
    return found[0]


class ServiceFacts:
    def __init__(self, options):
        self.options = options

    def state(self, facts):
        self.fact = facts.fact
        try:
            service_unit.verify(self.fact, SERVICE, MOST_EXPOSURE, SOCKET)
            with self.fact("systemctl enable --now starts both units, on a node with Open vSwitch and an API server", basis=True):
                self.make_node()
            self.readiness()
            sandbox.state(self.fact)
            self.access()
            self.pods()
            self.other_kinds()
            self.log_file()
            self.restarts()
            self.kills()
            self.failing_starts()
            self.watchdog()
            self.stop()
            controller_service.state(self.fact, self.node.pods.api)
            devices_service.state(self.fact)
        finally:
            if facts.failed:
                units = (SERVICE, SOCKET, controller_service.SERVICE, devices_service.SERVICE)
                said = run("journalctl", "--no-pager", *(f"--unit={unit}" for unit in units)).splitlines()
                print("\n".join(line for line in said if "msg=call" not in line), flush=True)

    def make_node(self):
        Path("/run/netns").mkdir()
        WORK.mkdir()
        make_certificates(WORK / "tls")
        self.node = systemd_node(self.options.plugin, FakeApiServer(WORK / "tls", WORK / "api.log"))
        pods = self.node.pods.make_many(RUNNING + CLIENTS)
        self.clients = pods[RUNNING:]
        self.before = self.node.remains()
        self.running = [self.node.added(pod=pod) for pod in pods[:RUNNING]]
        self.pictures = [made.picture() for made in self.running]
        self.held = self.node.remains()

    # ---- what later facts ask
    def as_before(self):
        """Pods that came and went have left nothing, and pods that run are unchanged."""
        nothing(self.node.remains() ^ self.held, "left or gone")
        for made, before in zip(self.running, self.pictures):
            expect_same(before, made.picture(), made.pod.name)

    def plug_and_unplug(self):
        made = self.node.added(pod=self.clients[0])
        made.delete().silent()
        run("ip", "netns", "delete", made.netns)

    # ---- the facts
    def readiness(self):
        with self.fact("the service is active, by the notification of its main process"):
            found = properties(SERVICE, "Type", "NotifyAccess", "ActiveState", "SubState", "Result", "NRestarts")
            assert found == ["notify", "main", "active", "running", "success", "0"], found
            assert Path(f"/proc/{main_pid()}/comm").read_text() == "kuryr-daemon\n", main_pid()
        with self.fact("systemd had it for started only when it was ready"):
            run("journalctl", "--sync")
            said = run("journalctl", "--output=cat", f"--unit={SERVICE}").splitlines()
            ready, started = ([index for index, line in enumerate(said) if text in line][0]
                              for text in ('msg=ready', f"Started {SERVICE}"))
            assert ready < started, said
        with self.fact("it serves the socket unit's socket"):
            self.listener = listener()
            held = {os.readlink(link) for link in Path(f"/proc/{main_pid()}/fd").iterdir()}
            assert f"socket:[{self.listener}]" in held, (self.listener, held)
            assert properties(SOCKET, "SubState") == ["running"], properties(SOCKET, "SubState")

    def access(self):
        with self.fact("the sockets for calls and for status have mode 0600, in a folder of mode 0700, all root's"):
            found = [(stat.S_IMODE(s.st_mode), s.st_uid)
                     for s in map(os.stat, (SOCKET_PATH, STATUS_SOCKET_PATH, SOCKET_PATH.parent))]
            assert found == [(0o600, 0), (0o600, 0), (0o700, 0)], found
        with self.fact("another user cannot connect"):
            for path in (SOCKET_PATH, STATUS_SOCKET_PATH):
                done = subprocess.run(["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups",
                                       "/usr/bin/python3", "-c", CONNECT, path], text=True, capture_output=True, check=False)
                assert "PermissionError" in done.stderr, done
        with self.fact("kuryr-daemon health finds it alive and ready"):
            for question in ("alive", "ready"):
                assert run("/usr/sbin/kuryr-daemon", "health", question) == "ok\n", question

    def pods(self):
        with self.fact("ADD, CHECK and DEL are the agent's, in namespaces that are younger than it"):
            with Journal() as journal:
                made = self.node.added(pod=self.clients[0])
                assert made.pod.plan.tap in self.node.ovs.ports(), "no port in br-int"
                made.check().silent()
                made.delete().silent()
                for command in ("ADD", "CHECK", "DEL"):
                    journal.wait_for(f"command={command} container={made.container_id}")
                self.as_before()
        with self.fact("a namespace that the runtime deletes is gone, the agent's mounts keep none"):
            inode = f"net:[{made.netns_inode()}]"
            mounts = Path(f"/proc/{main_pid()}/mountinfo")
            assert inode in mounts.read_text(), "the agent did not see it"
            run("ip", "netns", "delete", made.netns)
            assert inode not in mounts.read_text(), "the agent has it still"

    def other_kinds(self):
        with self.fact("VIFs of other drivers are plugged from inside the sandbox, too"):
            for kind in KINDS:
                vif = json.loads((REPOSITORY / f"tests/data/vif-samples/vif/{kind}.json").read_text())
                vif["versioned_object.data"]["active"] = True
                pod = self.node.pods.create(kind, annotations={ANNOTATION: json.dumps(vif)})
                made = self.node.added(pod=pod)
                made.check().silent()
                made.delete().silent()
                self.as_before()

    def log_file(self):
        with self.fact("[DEFAULT] log_file may be below /var/log/kuryr"):
            usual = CONF.read_text()
            log = Path("/var/log/kuryr/daemon.log")
            try:
                CONF.write_text(f"[DEFAULT]\nlog_file = {log}\n{usual}")
                systemctl("restart", SERVICE)
                self.plug_and_unplug()
                assert "command=ADD" in log.read_text(), log.read_text()
            finally:
                CONF.write_text(usual)
                systemctl("restart", SERVICE)

    def restarts(self):
        with self.fact(f"{RESTARTS} restarts at work: no call fails"):
            with Load(self.node, self.clients) as load:
                for _ in range(RESTARTS):
                    before = main_pid()
                    systemctl("restart", SERVICE)
                    assert main_pid() not in (0, before), "not restarted"
                    load.wait_for(CALLS_BETWEEN)
            nothing(load.failures(), "failed")
            assert listener() == self.listener, "it is another socket"
        with self.fact("and nothing is left, and the pods that run are as they were"):
            self.as_before()

    def kills(self):
        with self.fact(f"killed {KILLS} times at work, it is started anew; calls fail with code 11 only"):
            with Load(self.node, self.clients) as load, Journal() as journal:
                for number in range(KILLS):
                    load.wait_for(CALLS_BETWEEN)
                    os.kill(main_pid(), signal.SIGKILL)
                    journal.wait_for(f"Started {SERVICE}", number + 1)
                load.wait_for(CALLS_BETWEEN)
            nothing(load.failures(but=(11,)), "failed otherwise")
        with self.fact("then it works, and nothing is left, and the pods that run are as they were"):
            self.plug_and_unplug()
            self.as_before()

    def failing_starts(self):
        with self.fact("where it cannot start it is tried again and again, and calls wait that long"):
            usual = CONF.read_text()
            with ThreadPoolExecutor(1) as runtime, Journal() as journal:
                try:
                    CONF.write_text(usual.replace("[cni_daemon]\n", "[cni_daemon]\nmax_calls = many\n"))
                    systemctl("restart", SERVICE, check=False)
                    call = runtime.submit(self.plug_and_unplug)
                    journal.wait_for("Scheduled restart job", FAILED_STARTS)
                finally:
                    CONF.write_text(usual)
                call.result()
            assert properties(SOCKET, "Result") == ["success"], properties(SOCKET, "Result")
            self.as_before()

    def watchdog(self):
        with self.fact("its watchdog hears of it"):
            assert properties(SERVICE, "WatchdogUSec") == ["30s"], properties(SERVICE, "WatchdogUSec")
            drop_in = service_unit.drop_in(SERVICE, WATCHDOG)
            systemctl("restart", SERVICE)
            # No event tells when that changes.
            first, deadline = watchdog_time(), time.monotonic() + EVENT_SECONDS
            while watchdog_time() == first and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
            assert watchdog_time() > first, "it heard only that it is ready"
        with self.fact("where it stands still its watchdog starts it anew, and the pods that run are as they were"):
            with Journal() as journal:
                before = main_pid()
                os.kill(before, signal.SIGSTOP)
                journal.wait_for("Watchdog timeout")
                journal.wait_for(f"Started {SERVICE}")
                assert main_pid() not in (0, before), "not restarted"
            self.as_before()
            self.plug_and_unplug()
        # On a slow machine that watchdog might strike again later.
        drop_in.unlink()
        systemctl("daemon-reload")
        systemctl("restart", SERVICE)

    def stop(self):
        with self.fact("a stop has the call at work answered first, and ends in time"):
            made = self.node.attachment(pod=self.node.pods.create("waiting", Plan(9, active=False)))
            with ThreadPoolExecutor(1) as runtime, Journal() as journal:
                add = runtime.submit(made.add)
                self.node.ovs.wait_for_port(made.pod.plan.tap)
                systemctl("stop", "--no-block", SOCKET, SERVICE)
                journal.wait_for(f"Stopping {SERVICE}")
                assert properties(SERVICE, "ActiveState") == ["deactivating"], properties(SERVICE, "ActiveState")
                self.node.pods.activate(made)
                add.result().result()
            systemctl("stop", SOCKET, SERVICE)
            for unit in UNITS:
                assert properties(unit, "ActiveState", "Result") == ["inactive", "success"], properties(unit, "Result")
        with self.fact("then its socket is gone: ADD ends with code 11 where the agent has to be there, DEL works"):
            assert not SOCKET_PATH.exists(), f"{SOCKET_PATH} is there still"
            conf = {"kuryr_conf": self.node.kuryr.write_conf(daemon_enabled="true")}
            late = self.node.attachment(pod=self.clients[0])
            late.add(late.conf(**conf)).error(11)
            for attachment in (late, made, *self.running):
                attachment.delete({**attachment.with_result(), **conf}).silent()
            nothing(self.node.remains() - self.before, "left")
