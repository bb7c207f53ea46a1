"""A private Open vSwitch: ovsdb-server and ovs-vswitchd with the userspace datapath, in the node's namespaces."""
import json
import os
import shutil
import signal
import subprocess
from pathlib import Path

from .namespaces import run

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
FOLDER = Path("/run/openvswitch")


def make_database(path):
    """An empty one, to be copied for each node."""
    run("ovsdb-tool", "create", str(path), SCHEMA)


class OpenVSwitch:
    def __init__(self, database, bridge):
        FOLDER.mkdir()
        self.bridge = bridge
        folder = str(FOLDER)
        self.env = {**os.environ, "OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder, "OVS_SYSCONFDIR": folder}
        shutil.copy(database, FOLDER / "conf.db")
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        self.start_vswitchd()
        self.make_bridge()

    def daemon(self, *command):
        # It detaches when it is ready.
        subprocess.run([*command, "--detach", "--no-chdir", "--pidfile", f"--log-file={FOLDER}/{command[0]}.log"],
                       env=self.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start_ovsdb(self):
        self.daemon("ovsdb-server", str(FOLDER / "conf.db"), "--remote=punix:/run/openvswitch/db.sock")

    def start_vswitchd(self):
        self.daemon("ovs-vswitchd")

    def kill(self, program):
        pidfile = FOLDER / f"{program}.pid"
        pid = int(pidfile.read_text())
        os.kill(pid, signal.SIGKILL)
        # This process is the namespace's first, and so the daemon's parent.
        os.waitpid(pid, 0)
        pidfile.unlink()

    def stop_ovsdb(self):
        self.kill("ovsdb-server")
        (FOLDER / "db.sock").unlink()

    def stop_vswitchd(self):
        self.kill("ovs-vswitchd")

    def vsctl(self, *arguments):
        return run("ovs-vsctl", "--timeout=20", *arguments, env=self.env)

    def make_bridge(self):
        self.vsctl("add-br", self.bridge, "--", "set", "Bridge", self.bridge, "datapath_type=netdev")

    def column(self, table, column):
        """[value] of every row."""
        rows = json.loads(self.vsctl("--format=json", f"--columns={column}", "list", table))["data"]
        return [row[0] for row in rows]

    def rows(self):
        """What attachments may leave: names of ports and interfaces, QoS rows."""
        named = {f"{table} {name}" for table in ("Port", "Interface", "Mirror") for name in self.column(table, "name")}
        return named | {f"{table} {uuid[1]}" for table in ("QoS", "Queue") for uuid in self.column(table, "_uuid")}

    def picture(self):
        """Configuration without statistics."""
        wanted = {"Port": "name,tag,trunks,qos,external_ids", "Interface": "name,type,external_ids,options,mtu_request",
                  "Bridge": "name,ports,datapath_type"}
        return [self.vsctl("--format=json", f"--columns={columns}", "list", table) for table, columns in wanted.items()]
