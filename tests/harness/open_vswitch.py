"""A private Open vSwitch: ovsdb-server and ovs-vswitchd on a host, at the paths that programs expect."""
import json
import os
import shutil
import signal
import uuid
from pathlib import Path
from subprocess import CalledProcessError

from harness.expectation import Failed
from harness.host import HERE
from harness.process import run
from harness.report import Skipped

SCHEMA = "/usr/share/openvswitch/vswitch.ovsschema"
FOLDER = Path("/run/openvswitch")
KERNEL_DATAPATH = Path("/sys/module/openvswitch").exists()
DPDK = "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"


def make_database(path):
    """Makes an empty database, whose copies serve several nodes."""
    run("ovsdb-tool", "create", path, SCHEMA)


class OpenVSwitch:
    """This process is the first of its process namespace, so the daemons become its children."""

    def __init__(self, bridge="br-int", database=None, datapath="netdev", host=HERE):
        """database: what make_database() made, for speed; datapath: netdev is in userspace, system the kernel's."""
        self.bridge, self.datapath, self.host = bridge, datapath, host
        self.folder = host.path(FOLDER)
        self.folder.mkdir()
        folder = str(FOLDER)
        self.env = {**os.environ, "OVS_RUNDIR": folder, "OVS_LOGDIR": folder, "OVS_DBDIR": folder, "OVS_SYSCONFDIR": folder}
        if database:
            shutil.copy(database, self.folder / "conf.db")
        else:
            make_database(self.folder / "conf.db")
        self.start_ovsdb()
        self.vsctl("--no-wait", "init")
        self.start_vswitchd()
        self.make_bridge()

    def daemon(self, *command):
        # The daemon detaches when it is ready.
        name = os.path.basename(command[0]).removesuffix("-dpdk")
        self.host.run(*command, "--detach", "--no-chdir", f"--pidfile={name}.pid", f"--log-file={FOLDER}/{name}.log",
                      env=self.env)

    def start_ovsdb(self):
        self.daemon("ovsdb-server", FOLDER / "conf.db", "--remote=punix:/run/openvswitch/db.sock")

    def start_vswitchd(self):
        self.daemon("ovs-vswitchd")

    def start_vswitchd_with_dpdk(self):
        """Starts it without huge pages and devices, which vhost-user ports do not need."""
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
        pidfile = self.folder / f"{program}.pid"
        pid = int(pidfile.read_text())
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        pidfile.unlink()

    def stop_ovsdb(self):
        self.kill("ovsdb-server")
        (self.folder / "db.sock").unlink()

    def stop_vswitchd(self):
        self.kill("ovs-vswitchd")

    def restart_vswitchd(self):
        """Ends it in order, as an upgrade does, and starts it again."""
        pid = int((self.folder / "ovs-vswitchd.pid").read_text())
        self.host.run("ovs-appctl -t ovs-vswitchd exit", env=self.env)
        os.waitpid(pid, 0)
        self.start_vswitchd()

    def restart_ovsdb(self):
        """Kills it, as a crash does, and starts it again."""
        self.stop_ovsdb()
        self.start_ovsdb()

    def vsctl(self, *arguments):
        return self.host.run("ovs-vsctl", "--timeout=20", *arguments, env=self.env)

    def forget_flows(self):
        """Empties the datapath's cache, so that the next packet goes by the rules that are there now. ovs-vswitchd does so by
        itself a while after a change."""
        self.host.run("ovs-appctl -t ovs-vswitchd revalidator/purge", env=self.env)

    def make_bridge(self):
        self.vsctl("add-br", self.bridge, "--", "set", "Bridge", self.bridge, f"datapath_type={self.datapath}")

    def options(self):
        """The options of kuryr.conf for it."""
        return {"os_vif_ovs": {"datapath_type": self.datapath}}

    def start(self):
        self.start_ovsdb()
        self.start_vswitchd()

    def stop(self):
        self.stop_vswitchd()
        self.stop_ovsdb()

    # ---- as a node's switch
    def links(self):
        """The names of links that are the switch's own, not an attachment's."""
        return {self.bridge, "ovs-netdev"}

    def unplug(self, link):
        """Takes a host end (as ip tells of it) out of the bridge."""
        self.vsctl("del-port", link["ifname"])

    def plug(self, name):
        self.vsctl("add-port", self.bridge, name)

    def has(self, name):
        return name in self.column("Port", "name")

    def wait_for_port(self, name):
        """Waits until an ADD has plugged the port."""
        try:
            self.vsctl("wait-until", "Interface", name, "ofport>0")
        except CalledProcessError:
            raise Failed(f"no ADD has plugged {name}") from None

    # ---- what it has
    def column(self, table, column):
        """The column's value in every row."""
        rows = json.loads(self.vsctl("--format=json", f"--columns={column}", "list", table))["data"]
        return [row[0] for row in rows]

    def ports(self):
        """The names of the bridge's ports."""
        return set(self.vsctl("list-ports", self.bridge).split())

    def remains(self):
        """Rows that attachments may leave: ports, interfaces, mirrors, QoS."""
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
        """The configuration that CHECK and STATUS must not change."""
        wanted = {"Port": "name,tag,trunks,qos,external_ids", "Interface": "name,type,external_ids,options,mtu_request",
                  "Bridge": "name,ports,datapath_type"}
        return [self.vsctl("--format=json", f"--columns={columns}", "list", table) for table, columns in wanted.items()]
