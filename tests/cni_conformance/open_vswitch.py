"""A private Open vSwitch: ovsdb-server and ovs-vswitchd with the userspace datapath, in the node's namespaces."""
import json
import os
import shutil
import signal
import subprocess
import uuid
from pathlib import Path

from .case import Skipped
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
        self.env = {**os.environ, "OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder,
                    "OVS_SYSCONFDIR": folder}
        shutil.copy(database, FOLDER / "conf.db")
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        self.start_vswitchd()
        self.make_bridge()

    def daemon(self, *command):
        # It detaches when it is ready.
        name = os.path.basename(command[0]).removesuffix("-dpdk")
        subprocess.run([*command, "--detach", "--no-chdir", f"--pidfile={name}.pid", f"--log-file={FOLDER}/{name}.log"],
                       env=self.env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    def start_ovsdb(self):
        self.daemon("ovsdb-server", str(FOLDER / "conf.db"), "--remote=punix:/run/openvswitch/db.sock")

    def start_vswitchd(self):
        self.daemon("ovs-vswitchd")

    def start_vswitchd_with_dpdk(self):
        """Without huge pages and devices: vhost-user ports need neither."""
        program = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"
        if not os.path.exists(program):
            raise Skipped("openvswitch-switch-dpdk is not installed")
        self.stop_vswitchd()
        extra = f"--legacy-mem --no-huge -m 256 --no-pci --file-prefix conformance-{uuid.uuid4().hex}"
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   "other_config:per-port-memory=true", f'other_config:dpdk-extra="{extra}"')
        try:
            self.daemon(program)
        except subprocess.CalledProcessError:
            raise Skipped("DPDK does not start on this machine") from None

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
