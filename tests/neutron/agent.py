"""neutron-openvswitch-agent: it wires and filters the ports of its node, and tells Neutron by RabbitMQ."""
import os
import shutil
import signal
import subprocess
import time
import urllib.parse

from harness.expectation import expect
from harness.namespaces import WORK
from neutron import broker
from ovn.central import HOST_NAME

PROGRAMS = ("neutron-openvswitch-agent", "iptables", "ipset", "conntrack")
START_SECONDS = 120
POLL_SECONDS = 0.1
# neutron-server's options for this agent.
SERVER_OPTIONS = f"""[DEFAULT]
service_plugins =
transport_url = {broker.URL}
rpc_workers = 1
rpc_state_report_workers = 0
[ml2]
type_drivers = vxlan
tenant_network_types = vxlan
mechanism_drivers = openvswitch
extension_drivers = port_security,tag_ports_during_bulk_creation
[ml2_type_vxlan]
vni_ranges = 1:1000
"""
# It asks for root by a helper, also as root.
CONF = f"""[DEFAULT]
host = {HOST_NAME}
transport_url = {broker.URL}
state_path = {WORK}/neutron-agent
[oslo_concurrency]
lock_path = {WORK}/neutron-agent/lock
[agent]
root_helper = env
tunnel_types = vxlan
[ovs]
ovsdb_connection = unix:/run/openvswitch/db.sock
local_ip = 127.0.0.1
datapath_type = netdev
[securitygroup]
firewall_driver = """


def find_missing():
    """The programs that the machine lacks."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    return missing if os.path.exists(broker.PROGRAM) else [*missing, "rabbitmq-server"]


class OpenVSwitchAgent:
    """Children of the namespaces' first process, as its own ones."""

    def __init__(self, neutron):
        self.neutron, self.conf = neutron, WORK / "openvswitch-agent.conf"
        (WORK / "neutron-agent").mkdir()

    def start(self, firewall):
        """firewall: the driver's name. Neutron binds ports to the node as that driver wants it when this returns."""
        before = self.report()
        self.conf.write_text(f"{CONF}{firewall}\n")
        with open(WORK / "openvswitch-agent.log", "ab") as log:
            self.process = subprocess.Popen(["neutron-openvswitch-agent", "--config-file", self.conf], stdout=log, stderr=log,
                                            cwd="/", start_new_session=True)
        deadline = time.monotonic() + START_SECONDS
        while (now := self.report()) == before or not now["alive"]:
            expect(self.process.poll() is None, f"it ended with {self.process.returncode}")
            expect(time.monotonic() < deadline, f"Neutron has not heard of it in {START_SECONDS} s")
            time.sleep(POLL_SECONDS)

    def report(self):
        """Neutron's report of the agent: whether it lives, and since when; None before the first."""
        kind = urllib.parse.quote("Open vSwitch agent")
        found = self.neutron.get(f"agents?host={HOST_NAME}&agent_type={kind}")["agents"]
        return {key: found[0][key] for key in ("alive", "started_at")} if found else None

    def kill(self):
        """All of it, without a word."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
