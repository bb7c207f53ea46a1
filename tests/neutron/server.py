"""A private neutron-server with ML2/OVN, and the MariaDB that it needs: SQLite locks with several workers."""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request

from harness.namespaces import WORK
from harness.process import run
from ovn.central import NORTHBOUND, SOUTHBOUND

FOLDER = WORK / "neutron"
DATABASE = FOLDER / "mariadb.sock"
URL = "http://127.0.0.1:9696"
PROJECT = "5d2a3c0e8f7b4c1b9e0a6d3f2c1b0a99"
# Without Keystone a request says itself who makes it.
HEADERS = {"Content-Type": "application/json", "X-Project-Id": PROJECT, "X-Roles": "admin"}
PROGRAMS = ("mariadbd", "mariadb-install-db", "neutron-server")
START_SECONDS = 120
ANSWER_SECONDS = 60
POLL_SECONDS = 0.1
# Without a router plugin the thread does not start that keeps this server in Neutron's hash ring: a minute later it would
# not hear of OVN any more.
CONF = f"""[DEFAULT]
core_plugin = ml2
service_plugins = ovn-router,trunk
auth_strategy = noauth
api_paste_config = /etc/neutron/api-paste.ini
transport_url = fake://
api_workers = 1
rpc_workers = 0
bind_host = 127.0.0.1
state_path = {FOLDER}
dhcp_agent_notification = false
[oslo_concurrency]
lock_path = {FOLDER}/lock
[database]
connection = mysql+pymysql://root@localhost/neutron?unix_socket={DATABASE}
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
# The migrations take a minute; what they end in is the same.
MAKE_TABLES = f"""
import sqlalchemy
from neutron.db.migration.models import head
head.get_metadata().create_all(sqlalchemy.create_engine("mysql+pymysql://root@localhost/neutron?unix_socket={DATABASE}"))
"""


def find_missing():
    """Programs that this machine has not got."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Refused(Exception):
    """By Neutron, with its reason."""


class Neutron:
    """Its processes are children of the namespaces' first process."""

    def __init__(self):
        FOLDER.mkdir()
        (FOLDER / "neutron.conf").write_text(CONF)
        self.start_database()
        run("mariadb", "--no-defaults", f"--socket={DATABASE}", "--execute=CREATE DATABASE neutron CHARACTER SET utf8mb3")
        run("/usr/bin/python3", "-c", MAKE_TABLES, cwd="/")
        self.start()

    def start(self):
        """A session of its own: its workers outlive its first process."""
        with open(WORK / "neutron-server.log", "ab") as log:
            self.server = subprocess.Popen(["neutron-server", "--config-file", FOLDER / "neutron.conf"], stdout=log, stderr=log,
                                           cwd="/", start_new_session=True)
        self.wait_until_it_answers()

    def kill(self):
        """All of it, without a word; another one answers when it returns."""
        os.killpg(self.server.pid, signal.SIGKILL)
        self.server.wait()
        self.start()

    @staticmethod
    def start_database():
        """Ready when it returns."""
        data = FOLDER / "mariadb"
        # In /tmp its temporary tables have names of its process ID: in another namespace there is the same.
        (FOLDER / "tmp").mkdir()
        usual = ["--no-defaults", "--user=root", f"--datadir={data}", f"--tmpdir={FOLDER}/tmp"]
        run("mariadb-install-db", *usual, "--skip-test-db", "--auth-root-authentication-method=normal")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ready, open(WORK / "mariadb.log", "wb") as log:
            address = str(FOLDER / "mariadb.ready")
            ready.bind(address)
            ready.settimeout(START_SECONDS)
            subprocess.Popen(["mariadbd", *usual, f"--socket={DATABASE}", "--skip-networking", "--skip-grant-tables",
                              "--innodb-flush-log-at-trx-commit=0"], stdout=log, stderr=log,
                             env={**os.environ, "NOTIFY_SOCKET": address})
            while b"READY=1" not in ready.recv(4096):
                pass

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
        request = urllib.request.Request(f"{URL}/v2.0/{path}", None if body is None else json.dumps(body).encode(), HEADERS,
                                         method=method)
        try:
            with urllib.request.urlopen(request, timeout=ANSWER_SECONDS) as answer:
                return json.loads(answer.read() or "null")
        except urllib.error.HTTPError as refused:
            raise Refused(f"{method} {path}: {refused.code} {refused.read().decode(errors='replace')}") from None

    def get(self, path):
        return self.request("GET", path)

    def create(self, kind, **values):
        """kind: in the singular, with underscores."""
        return self.request("POST", kind.replace("_", "-") + "s", {kind: {"tenant_id": PROJECT, **values}})[kind]

    def delete(self, kind, identity):
        self.request("DELETE", f"{kind.replace('_', '-')}s/{identity}")

    def wait_for_status(self, port, status, seconds):
        """Neutron tells nobody, but answers."""
        deadline = time.monotonic() + seconds
        while (found := self.get(f"ports/{port}?fields=status")["port"]["status"]) != status:
            assert time.monotonic() < deadline, f"after {seconds} s port {port} is {found}, not {status}"
            time.sleep(POLL_SECONDS)
