"""A private OVN: northbound and southbound database, ovn-northd, and ovn-controllers of nodes."""
import os
import shutil
import signal
from pathlib import Path
from subprocess import CalledProcessError

from harness.host import HERE

FOLDER = Path("/run/ovn")
NORTHBOUND, SOUTHBOUND = (f"unix:{FOLDER}/ovn{name}_db.sock" for name in ("nb", "sb"))
# The ports at which other nodes reach the databases.
NORTHBOUND_PORT, SOUTHBOUND_PORT = 6641, 6642
CHASSIS, HOST_NAME = "chassis-1", "node1"
PROGRAMS = ("ovsdb-server", "ovsdb-tool", "ovs-vswitchd", "ovn-northd", "ovn-controller", "ovn-nbctl", "ovn-sbctl")
NORTHD, CONTROLLER = "ovn-northd", "ovn-controller"
NB, SB = "northbound ovsdb-server", "southbound ovsdb-server"
EVENT_SECONDS = 30


def find_missing():
    """Programs that this machine lacks."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Daemons:
    """OVN's daemons on a host. The test is the first process of its namespace, and so their parent."""

    def __init__(self, commands, host=HERE):
        """commands: {part: its command line}; start() starts one."""
        self.commands, self.host, self.folder = commands, host, host.path(FOLDER)
        self.folder.mkdir(exist_ok=True)
        self.env = {**os.environ, **{f"OVN_{name}DIR": str(FOLDER) for name in ("RUN", "LOG", "DB", "SYSCONF")}}

    def start(self, part):
        """The part detaches when it is ready."""
        name = part.replace(" ", "-")
        self.host.run(*self.commands[part], "--detach", "--no-chdir", f"--pidfile={FOLDER}/{name}.pid",
                      f"--log-file={FOLDER}/{name}.log", env=self.env)

    def pid(self, part):
        return int((self.folder / f"{part.replace(' ', '-')}.pid").read_text())

    def kill(self, part):
        pid = self.pid(part)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)

    def exit(self, part):
        """Ends it in order: an ovn-controller gives up its claims."""
        pid = self.pid(part)
        self.host.run("ovn-appctl", "-t", FOLDER / f"{part}.{pid}.ctl", "exit", env=self.env)
        os.waitpid(pid, 0)

    def hold(self, part):
        os.kill(self.pid(part), signal.SIGSTOP)

    def let_go(self, part):
        os.kill(self.pid(part), signal.SIGCONT)

    def stop(self):
        """Kills all parts, the last one first."""
        for part in reversed(self.commands):
            self.kill(part)


class Central(Daemons):
    """The databases and ovn-northd."""

    def __init__(self, host=HERE, listens=False):
        """listens: other nodes reach the databases by TCP, at any address of the host."""
        ports = (NORTHBOUND_PORT, SOUTHBOUND_PORT) if listens else (None, None)
        super().__init__({
            NB: self.database_command("nb", NORTHBOUND, ports[0]), SB: self.database_command("sb", SOUTHBOUND, ports[1]),
            NORTHD: [NORTHD, f"--ovnnb-db={NORTHBOUND}", f"--ovnsb-db={SOUTHBOUND}"]}, host)
        for name in ("nb", "sb"):
            host.run("ovsdb-tool", "create", FOLDER / f"{name}.db", f"/usr/share/ovn/ovn-{name}.ovsschema")
        for part in self.commands:
            self.start(part)

    @staticmethod
    def database_command(name, remote, port=None):
        return ["ovsdb-server", FOLDER / f"{name}.db", f"--remote=p{remote}", *([f"--remote=ptcp:{port}:[::]"] if port else []),
                f"--unixctl={FOLDER}/ovn{name}_db.ctl"]

    def nbctl(self, *arguments):
        return self.host.run("ovn-nbctl", f"--db={NORTHBOUND}", f"--timeout={EVENT_SECONDS}", *arguments)

    def sbctl(self, *arguments):
        return self.host.run("ovn-sbctl", f"--db={SOUTHBOUND}", f"--timeout={EVENT_SECONDS}", *arguments)

    def wait_for_chassis(self, name):
        self.sbctl("wait-until", "Chassis", name, f"name={name}")

    def sync(self):
        """Until all nodes have what the northbound database says."""
        self.nbctl("--wait=hv", "sync")


class Ovn(Central):
    """All of OVN on one node."""

    def __init__(self, ovs):
        """ovs: the node's Open vSwitch."""
        self.ovs = ovs
        super().__init__()
        ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:system-id={CHASSIS}", f"external_ids:hostname={HOST_NAME}",
                  f'external_ids:ovn-remote="{SOUTHBOUND}"', "external_ids:ovn-encap-type=geneve",
                  "external_ids:ovn-encap-ip=127.0.0.1")
        self.commands[CONTROLLER] = [CONTROLLER]
        self.start(CONTROLLER)
        # Until ovn-controller works: Neutron binds no port to a host without chassis.
        self.wait_for_chassis(CHASSIS)
        try:
            self.sync()
        except CalledProcessError:
            self.replace_dead_controller()
            self.sync()

    def replace_dead_controller(self):
        """On a busy machine the ovn-controller of OVN 23.03 may end while it starts. Its service would start it again."""
        pid = self.pid(CONTROLLER)
        dead, status = os.waitpid(pid, os.WNOHANG)
        if not dead:
            raise RuntimeError(f"{CONTROLLER} lives, and the node has not got what the northbound database says")
        print(f"{CONTROLLER} ended with {os.waitstatus_to_exitcode(status)} at its start", flush=True)
        self.start(CONTROLLER)

    # ---- ports of the node
    def wait_until_wired(self, port):
        """Until ovn-controller says that the port's flows are there."""
        self.ovs.vsctl("wait-until", "Interface", port.tap, "external_ids:ovn-installed=true")

    def is_wired(self, port):
        return self.ovs.vsctl("get", "Interface", port.tap, "external_ids:ovn-installed").strip() == '"true"'

    def wait_for_rules(self):
        """Until the next packet goes by what the northbound database says."""
        self.sync()
        self.ovs.forget_flows()

    def wait_for_claim(self, port):
        """Until the chassis (there is no other) has the port, and OVN says so northbound."""
        self.sbctl("wait-until", "Port_Binding", port, "chassis!=[]", "up=true")
        self.nbctl("wait-until", "Logical_Switch_Port", port, "up=true")

    def wait_for_release(self, port):
        self.sbctl("wait-until", "Port_Binding", port, "chassis=[]")
        self.nbctl("wait-until", "Logical_Switch_Port", port, "up=false")
