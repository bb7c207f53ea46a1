"""A private neutron-server."""
import contextlib
import os
import shutil
import signal
import subprocess
import time

from harness.namespaces import WORK
from neutron import database, keystone
from neutron.http_api import Refused, ask
from ovn.central import NORTHBOUND, SOUTHBOUND

FOLDER = WORK / "neutron"
URL = "http://127.0.0.1:9696"
PROGRAMS = ("mariadbd", "mariadb-install-db", "neutron-server", *keystone.PROGRAMS)
START_SECONDS = 120
POLL_SECONDS = 0.1
UNAUTHORIZED = 401
CONF = f"""[DEFAULT]
core_plugin = ml2
api_paste_config = /etc/neutron/api-paste.ini
api_workers = 1
bind_host = 127.0.0.1
state_path = {FOLDER}
dhcp_agent_notification = false
notify_nova_on_port_status_changes = false
notify_nova_on_port_data_changes = false
[oslo_concurrency]
lock_path = {FOLDER}/lock
[database]
connection = {database.URL}
[quotas]
quota_security_group = 1000
quota_security_group_rule = 10000
"""
# Without a router plugin the thread does not start that keeps this server in Neutron's hash ring: a minute later it would
# not hear of OVN any more.
OVN = f"""[DEFAULT]
service_plugins = ovn-router,trunk
transport_url = fake://
rpc_workers = 0
[ml2]
type_drivers = geneve
tenant_network_types = geneve
mechanism_drivers = ovn
extension_drivers = port_security
[ml2_type_geneve]
vni_ranges = 1:65536
max_header_size = 38
[ovn]
ovn_nb_connection = {NORTHBOUND}
ovn_sb_connection = {SOUTHBOUND}
"""


def find_missing():
    """Programs that this machine has not got."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Neutron:
    """Its processes are children of the namespaces' first process. The database has to be there."""

    def __init__(self, mechanism, identity):
        """mechanism: its part of neutron.conf; identity: a Keystone, or a NoKeystone."""
        FOLDER.mkdir()
        self.identity = identity
        (FOLDER / "neutron.conf").write_text(CONF + mechanism + identity.neutron_options)
        self.start()

    def start(self):
        """A session of its own: its workers outlive its first process."""
        with open(WORK / "neutron-server.log", "ab") as log:
            self.server = subprocess.Popen(["neutron-server", "--config-file", FOLDER / "neutron.conf"], stdout=log, stderr=log,
                                           cwd="/", start_new_session=True)
        self.wait_until_it_answers()

    def kill(self):
        """All of it, without a word; another one answers when it returns."""
        self.signal(signal.SIGKILL)
        self.server.wait()
        self.start()

    def signal(self, number):
        """To all of it."""
        os.killpg(self.server.pid, number)

    def wait_until_it_answers(self):
        deadline = time.monotonic() + START_SECONDS
        while True:
            # Also one that hangs up, or is late: urllib tells it as it is.
            with contextlib.suppress(OSError):
                return self.get("networks")
            if self.server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("neutron-server does not start")
            time.sleep(POLL_SECONDS)

    # ---- its API
    def request(self, method, path, body=None):
        """path: below /v2.0/."""
        try:
            return self.ask(method, path, body)
        except Refused as refused:
            if refused.code != UNAUTHORIZED:
                raise
        self.identity.forget()
        return self.ask(method, path, body)

    def ask(self, method, path, body):
        return ask(method, f"{URL}/v2.0/{path}", body, self.identity.headers())[0]

    def get(self, path):
        return self.request("GET", path)

    def create(self, kind, **values):
        """kind: in the singular, with underscores."""
        return self.request("POST", kind.replace("_", "-") + "s",
                            {kind: {"tenant_id": self.identity.project, **values}})[kind]

    def delete(self, kind, identity):
        self.request("DELETE", f"{kind.replace('_', '-')}s/{identity}")

    def wait_for_status(self, port, status, seconds):
        """Neutron tells nobody, but answers."""
        deadline = time.monotonic() + seconds
        while (found := self.get(f"ports/{port}?fields=status")["port"]["status"]) != status:
            assert time.monotonic() < deadline, f"after {seconds} s port {port} is {found}, not {status}"
            time.sleep(POLL_SECONDS)
