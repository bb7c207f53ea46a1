"""A private OVN: northbound and southbound database, ovn-northd, and this node's ovn-controller."""
import os
import shutil
import signal
from pathlib import Path
from subprocess import CalledProcessError

from harness.process import run

FOLDER = Path("/run/ovn")
NORTHBOUND, SOUTHBOUND = (f"unix:{FOLDER}/ovn{name}_db.sock" for name in ("nb", "sb"))
CHASSIS, HOST_NAME = "chassis-1", "node1"
PROGRAMS = ("ovsdb-server", "ovsdb-tool", "ovs-vswitchd", "ovn-northd", "ovn-controller", "ovn-nbctl", "ovn-sbctl")
NORTHD, CONTROLLER = "ovn-northd", "ovn-controller"
NB, SB = "northbound ovsdb-server", "southbound ovsdb-server"
EVENT_SECONDS = 30


def find_missing():
    """Programs that this machine lacks."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Ovn:
    def __init__(self, ovs):
        """ovs: the node's Open vSwitch."""
        self.ovs = ovs
        FOLDER.mkdir()
        self.commands = {
            NB: self.database_command("nb", NORTHBOUND), SB: self.database_command("sb", SOUTHBOUND),
            NORTHD: [NORTHD, f"--ovnnb-db={NORTHBOUND}", f"--ovnsb-db={SOUTHBOUND}"],
            CONTROLLER: [CONTROLLER]}
        self.env = {**os.environ, **{f"OVN_{name}DIR": str(FOLDER) for name in ("RUN", "LOG", "DB", "SYSCONF")}}
        for name in ("nb", "sb"):
            run("ovsdb-tool", "create", FOLDER / f"{name}.db", f"/usr/share/ovn/ovn-{name}.ovsschema")
        ovs.vsctl("set", "Open_vSwitch", ".", f"external_ids:system-id={CHASSIS}", f"external_ids:hostname={HOST_NAME}",
                  f'external_ids:ovn-remote="{SOUTHBOUND}"', "external_ids:ovn-encap-type=geneve",
                  "external_ids:ovn-encap-ip=127.0.0.1")
        for part in self.commands:
            self.start(part)
        # Until ovn-controller works: Neutron binds no port to a host without chassis.
        self.sbctl("wait-until", "Chassis", CHASSIS, f"name={CHASSIS}")
        try:
            self.sync()
        except CalledProcessError:
            self.replace_dead_controller()
            self.sync()

    @staticmethod
    def database_command(name, remote):
        return ["ovsdb-server", FOLDER / f"{name}.db", f"--remote=p{remote}",
                f"--unixctl={FOLDER}/ovn{name}_db.ctl"]

    # ---- its parts
    def start(self, part):
        """The part detaches when it is ready."""
        name = part.replace(" ", "-")
        run(*self.commands[part], "--detach", "--no-chdir", f"--pidfile={FOLDER}/{name}.pid", f"--log-file={FOLDER}/{name}.log",
            env=self.env)

    @staticmethod
    def pid(part):
        return int((FOLDER / f"{part.replace(' ', '-')}.pid").read_text())

    def kill(self, part):
        pid = self.pid(part)
        os.kill(pid, signal.SIGKILL)
        # This process is the first of its namespace, and so the daemon's parent.
        os.waitpid(pid, 0)

    def exit(self, part):
        """Ends it in order: an ovn-controller gives up its claims."""
        pid = self.pid(part)
        run("ovn-appctl", "-t", FOLDER / f"{part}.{pid}.ctl", "exit", env=self.env)
        os.waitpid(pid, 0)

    def hold(self, part):
        os.kill(self.pid(part), signal.SIGSTOP)

    def let_go(self, part):
        os.kill(self.pid(part), signal.SIGCONT)

    def replace_dead_controller(self):
        """On a busy machine the ovn-controller of OVN 23.03 may end while it starts. Its service would start it again."""
        pid = self.pid(CONTROLLER)
        dead, status = os.waitpid(pid, os.WNOHANG)
        if not dead:
            raise RuntimeError(f"{CONTROLLER} lives, and the node has not got what the northbound database says")
        print(f"{CONTROLLER} ended with {os.waitstatus_to_exitcode(status)} at its start", flush=True)
        self.start(CONTROLLER)

    def stop(self):
        """Kills all parts, the last one first."""
        for part in reversed(self.commands):
            self.kill(part)

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

    # ---- its databases
    def nbctl(self, *arguments):
        return run("ovn-nbctl", f"--db={NORTHBOUND}", f"--timeout={EVENT_SECONDS}", *arguments)

    def sbctl(self, *arguments):
        return run("ovn-sbctl", f"--db={SOUTHBOUND}", f"--timeout={EVENT_SECONDS}", *arguments)

    def sync(self):
        """Until the node has what the northbound database says."""
        self.nbctl("--wait=hv", "sync")

    def wait_for_claim(self, port):
        """Until the chassis (there is no other) has the port, and OVN says so northbound."""
        self.sbctl("wait-until", "Port_Binding", port, "chassis!=[]", "up=true")
        self.nbctl("wait-until", "Logical_Switch_Port", port, "up=true")

    def wait_for_release(self, port):
        self.sbctl("wait-until", "Port_Binding", port, "chassis=[]")
        self.nbctl("wait-until", "Logical_Switch_Port", port, "up=false")
