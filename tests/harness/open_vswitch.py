"""A private Open vSwitch: ovsdb-server and ovs-vswitchd, in the node's namespaces, at the paths that programs expect."""
import json
import os
import shutil
import signal
import uuid
from pathlib import Path
from subprocess import CalledProcessError

from harness.process import run
from harness.report import Skipped

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
FOLDER = Path("/run/openvswitch")
KERNEL_DATAPATH = Path("/sys/module/openvswitch").exists()
DPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def make_database(path):
    """An empty one; copies of it serve several nodes."""
    run("ovsdb-tool", "create", path, SCHEMA)


class OpenVSwitch:
    """Its daemons are children of the namespaces' first process, which has to be this one."""

    def __init__(self, bridge="br-int", database=None, datapath="netdev"):
        """database: what make_database() made, for speed; datapath: netdev is in userspace, system the kernel's."""
        FOLDER.mkdir()
        self.bridge, self.datapath = bridge, datapath
        folder = str(FOLDER)
        self.env = {**os.environ, "OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder, "OVS_SYSCONFDIR": folder}
        if database:
            shutil.copy(database, FOLDER / "conf.db")
        else:
            make_database(FOLDER / "conf.db")
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        self.start_vswitchd()
        self.make_bridge()

    def daemon(self, *command):
        # It detaches when it is ready.
        name = os.path.basename(command[0]).removesuffix("-dpdk")
        run(*command, "--detach", "--no-chdir", f"--pidfile={name}.pid", f"--log-file={FOLDER}/{name}.log", env=self.env)

    def start_ovsdb(self):
        self.daemon("ovsdb-server", FOLDER / "conf.db", "--remote=punix:/run/openvswitch/db.sock")

    def start_vswitchd(self):
        self.daemon("ovs-vswitchd")

    def start_vswitchd_with_dpdk(self):
        """Without huge pages and devices: vhost-user ports need neither."""
        if not os.path.exists(DPDK):
            raise Skipped("openvswitch-switch-dpdk is not installed")
        self.stop_vswitchd()
        extra = f"--legacy-mem --no-huge -m 256 --no-pci --file-prefix conformance-{uuid.uuid4().hex}"
        self.vsctl("--no-wait", "set", "Open_vSwitch", ".", "other_config:dpdk-init=true",
                   "other_config:per-port-memory=true", f'other_config:dpdk-extra="{extra}"')
        try:
            self.daemon(DPDK)
        except CalledProcessError:
            raise Skipped("DPDK does not start on this machine") from None

    def kill(self, program):
        pidfile = FOLDER / f"{program}.pid"
        pid = int(pidfile.read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pidfile.unlink()

    def stop_ovsdb(self):
        self.kill("ovsdb-server")
        (FOLDER / "db.sock").unlink()

    def stop_vswitchd(self):
        self.kill("ovs-vswitchd")

    def restart_vswitchd(self):
        """As an upgrade does, not as a crash."""
        pid = int((FOLDER / "ovs-vswitchd.pid").read_text())
        run("ovs-appctl -t ovs-vswitchd exit", env=self.env)
        os.waitpid(pid, 0)
        self.start_vswitchd()

    def restart_ovsdb(self):
        """As a crash does."""
        self.stop_ovsdb()
        self.start_ovsdb()

    def vsctl(self, *arguments):
        return run("ovs-vsctl", "--timeout=20", *arguments, env=self.env)

    def forget_flows(self):
        """What the datapath remembers, of which the next packet would go by rules that are gone: ovs-vswitchd looks it
        through soon after they have changed, on a busy machine later."""
        run("ovs-appctl -t ovs-vswitchd revalidator/purge", env=self.env)

    def make_bridge(self):
        self.vsctl("add-br", self.bridge, "--", "set", "Bridge", self.bridge, f"datapath_type={self.datapath}")

    # ---- what it has
    def column(self, table, column):
        """[value] of every row."""
        rows = json.loads(self.vsctl("--format=json", f"--columns={column}", "list", table))["data"]
        return [row[0] for row in rows]

    def ports(self):
        """Of the bridge."""
        return set(self.vsctl("list-ports", self.bridge).split())

    def rows(self):
        """What attachments may leave: names of ports and interfaces, QoS rows."""
        named = {f"{table} {name}" for table in ("Port", "Interface", "Mirror") for name in self.column(table, "name")}
        return named | {f"{table} {uuid[1]}" for table in ("QoS", "Queue") for uuid in self.column(table, "_uuid")}

    def rows_by_port(self):
        """{port's name: {"interface": its row, "port": its row, "bridges": names}}"""
        text = self.vsctl("--retry", "--format=json",
                          "--columns=name,_uuid,type,ofport,external_ids,options,error", "list", "Interface", "--",
                          "--columns=name,_uuid,tag,qos,external_ids,other_config", "list", "Port", "--",
                          "--columns=name,ports", "list", "Bridge")
        interfaces, ports, bridges = ([dict(zip(table["headings"], row)) for row in table["data"]]
                                      for table in map(json.loads, text.splitlines()))
        rows = {row["name"]: {"interface": row} for row in interfaces}
        for port in ports:
            owners = [bridge["name"] for bridge in bridges if port["_uuid"][1] in json.dumps(bridge["ports"])]
            rows.setdefault(port["name"], {}).update(port=port, bridges=owners)
        return rows

    def picture(self):
        """Configuration without statistics."""
        wanted = {"Port": "name,tag,trunks,qos,external_ids", "Interface": "name,type,external_ids,options,mtu_request",
                  "Bridge": "name,ports,datapath_type"}
        return [self.vsctl("--format=json", f"--columns={columns}", "list", table) for table, columns in wanted.items()]
