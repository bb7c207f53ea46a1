"""kuryr-controllers: started, killed, paused, asked."""
import contextlib
import os
import signal
import subprocess
import urllib.request

from controller.cluster import CONTROLLER_TOKEN
from harness import launcher
from harness.namespaces import WORK

launcher.PROGRAMS["controller"] = "kuryr-controller"
# Blue and green have 28 addresses each: they are given again and again.
POOLS = """
[pool:blue]
cidr = 10.20.0.0/27
default = true
rest = 1

[pool:green]
cidr = 10.30.0.0/27, fd00:30::/64
ranges = 10.30.0.2-10.30.0.30, fd00:30::2-fd00:30::1e
namespaces = green
vif = bridge
bridge = br-green
rest = 1

[pool:original]
cidr = 10.1.0.0/16
ranges = 10.1.0.2-10.1.0.50
namespaces = original
rest = 1
"""
LOCAL = f"[controller]\nbackend = local\n{POOLS}"
# Where other producers have written plans by annotations, too.
BESIDE_OTHERS = f"[controller]\nbackend = local\nother_producers = annotations\n{POOLS}"
FIRST_PORT = 18080


def add_options(parser, count):
    """Adds a launcher's options. count: how many controllers there are by default."""
    parser.add_argument("--controllers", type=int, default=count, help="how many there are (%(default)s)")
    parser.add_argument("--sink", choices=("kuryrport", "podstate", "vif"), default="kuryrport", help="(%(default)s)")
    launcher.add_seed(parser)


class Controller:
    token = CONTROLLER_TOKEN

    def __init__(self, number, program, api, sink, backend=LOCAL):
        """backend: what kuryr.conf says of it."""
        self.name = f"controller-{number}"
        self.program, self.port = program, FIRST_PORT + number
        self.config, self.log = WORK / f"{self.name}.conf", WORK / f"{self.name}.log"
        (WORK / "controller-token").write_text(self.token)
        self.config.write_text(
            f"[kubernetes]\napi_root = {api.url}\nssl_ca_crt_file = {api.ca}\ntoken_file = {WORK}/controller-token\nvif_sink = {sink}\n"
            f"[health_server]\nport = {self.port}\n{backend}")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen([self.program, "--debug", "--config-file", self.config], stdout=log, stderr=log)

    def end(self, number):
        self.process.send_signal(number)
        self.process.wait()

    def signal(self, number):
        self.process.send_signal(number)

    def crash(self):
        """How it ended by itself; None while it has not."""
        return self.process.poll()

    def metrics(self):
        """{name with labels: value}; empty where it does not answer."""
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as answer:
                lines = [line for line in answer.read().decode().splitlines() if line and not line.startswith("#")]
                return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines)}
        return {}

    def leads(self):
        return self.metrics().get("kuryr_controller_leader") == 1

    def is_ready(self):
        """It has heard of the whole cluster."""
        with contextlib.suppress(OSError):
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/ready", timeout=5) as answer:
                return answer.status == 200
        return False

    def addresses(self):
        """Counts of addresses in the controller's networks."""
        return {name: value for name, value in self.metrics().items() if name.startswith("kuryr_controller_addresses{")}


class Controllers:
    def __init__(self, count, program, api, sink, backend=LOCAL):
        self.all = [Controller(number, program, api, sink, backend) for number in range(count)]
        self.crashes = []

    def leader(self):
        """The one that says so; None when none does."""
        return next((each for each in self.all if each.leads()), None)

    def addresses(self):
        """As the leader knows them, once none rests; None before."""
        leader = self.leader()
        found = leader.addresses() if leader and leader.is_ready() else {}
        is_quiet = found and not any(value for name, value in found.items() if 'state="resting"' in name)
        return found if is_quiet else None

    def look_for_crashes(self):
        self.crashes += [f"{each.name} ended with {each.crash()}" for each in self.all if each.crash() is not None]

    def stop(self):
        for each in self.all:
            with contextlib.suppress(ProcessLookupError):
                os.kill(each.process.pid, signal.SIGCONT)
            each.process.terminate()
        for each in self.all:
            each.process.wait()
