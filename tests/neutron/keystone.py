"""A private Keystone with SQLite, and what a Neutron without one takes in its place."""
import base64
import contextlib
import os
import shutil
import sqlite3
import subprocess
import time

from harness.namespaces import WORK
from harness.process import run
from neutron.http_api import ask

FOLDER = WORK / "keystone"
KEYS = FOLDER / "fernet-keys"
ROOT = "http://127.0.0.1:5000"
URL = f"{ROOT}/v3"
USER, PASSWORD, PROJECT, REGION = "kuryr", "a-password-of-keystone", "k8s", "RegionOne"
PROGRAMS = ("keystone-wsgi-public",)
START_SECONDS = 120
POLL_SECONDS = 0.1
TOKEN_SECONDS = 3600
# Else Neutron believes a token for 300 s without asking.
NEUTRON_OPTIONS = f"""[DEFAULT]
auth_strategy = keystone
[keystone_authtoken]
www_authenticate_uri = {URL}
auth_url = {URL}
auth_type = password
username = {USER}
password = {PASSWORD}
user_domain_name = Default
project_name = {PROJECT}
project_domain_name = Default
token_cache_time = 1
"""
# The migrations take a minute; what they end in is the same.
BOOTSTRAP = f"""
import keystone.conf
from keystone.cmd.bootstrap import Bootstrapper
from keystone.common import sql
keystone.conf.configure()
sql.initialize()
keystone.conf.CONF(["--config-file", "{FOLDER}/keystone.conf"], project="keystone")
made = Bootstrapper()
with sql.session_for_write() as session:
    sql.ModelBase.metadata.create_all(session.get_bind())
made.admin_username, made.admin_password, made.admin_role_name = "{USER}", "{PASSWORD}", "admin"
made.project_name, made.region_id, made.service_name = "{PROJECT}", "{REGION}", "keystone"
made.public_url = made.internal_url = made.admin_url = "{URL}"
made.bootstrap()
print(made.project_id, made.admin_user_id)
"""


class NoKeystone:
    """A request says itself who makes it."""

    project = "5d2a3c0e8f7b4c1b9e0a6d3f2c1b0a99"
    neutron_options = "[DEFAULT]\nauth_strategy = noauth\n"

    def __init__(self, neutron_url):
        self.kuryr_options = f"auth_type = none\nendpoint_override = {neutron_url}\n"

    def headers(self):
        return {"X-Project-Id": self.project, "X-Roles": "admin"}

    def forget(self):
        """There is nothing to forget."""


class Keystone:
    """With one user, who is admin. Children of the namespaces' first process."""

    neutron_options = NEUTRON_OPTIONS
    kuryr_options = (f"auth_url = {URL}\nusername = {USER}\nuser_domain_name = Default\npassword = {PASSWORD}\n"
                     f"project_name = {PROJECT}\nproject_domain_name = Default\nregion_name = {REGION}\n")

    def __init__(self, neutron_url):
        FOLDER.mkdir()
        self.token = None
        # Else whoever reads keeps writers out, also in one request.
        sqlite3.connect(FOLDER / "keystone.db").execute("PRAGMA journal_mode = WAL")
        self.configure()
        self.make_keys()
        self.project, self.user = run("/usr/bin/python3", "-c", BOOTSTRAP, cwd="/").split()
        self.start()
        service = self.create("service", type="network", name="neutron")["id"]
        for interface in ("public", "internal"):
            self.create("endpoint", service_id=service, interface=interface, url=neutron_url, region_id=REGION)

    @staticmethod
    def configure(token_seconds=TOKEN_SECONDS):
        """It counts from the next start on."""
        (FOLDER / "keystone.conf").write_text(
            f"[database]\nconnection = sqlite:///{FOLDER}/keystone.db\n[token]\nexpiration = {token_seconds}\n"
            f"[fernet_tokens]\nkey_repository = {KEYS}\n[fernet_receipts]\nkey_repository = {KEYS}\n"
            "[identity]\npassword_hash_rounds = 4\n[cache]\nenabled = true\nbackend = dogpile.cache.memory\n")

    @staticmethod
    def make_keys():
        """Makes new keys, so that every token ends."""
        shutil.rmtree(KEYS, ignore_errors=True)
        KEYS.mkdir(mode=0o700)
        for name in ("0", "1"):
            (KEYS / name).write_bytes(base64.urlsafe_b64encode(os.urandom(32)))

    def start(self):
        """Ready when it returns."""
        with open(WORK / "keystone.log", "ab") as log:
            self.process = subprocess.Popen(
                ["keystone-wsgi-public", "--host", "127.0.0.1", "--port", "5000"], stdout=log, stderr=log, cwd="/",
                env={**os.environ, "OS_KEYSTONE_CONFIG_FILES": f"{FOLDER}/keystone.conf"})
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError):
                return ask("GET", URL)
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError("keystone does not start")
            time.sleep(POLL_SECONDS)

    def stop(self):
        self.process.kill()
        self.process.wait()

    def kill(self):
        """Without a word; it answers again when this returns."""
        self.stop()
        self.start()

    # ---- its API
    def headers(self):
        """For requests to Neutron."""
        self.token = self.token or self.ask_for_token()
        return {"X-Auth-Token": self.token}

    def forget(self):
        """The token that was refused."""
        self.token = None

    @staticmethod
    def ask_for_token():
        user = {"name": USER, "domain": {"name": "Default"}, "password": PASSWORD}
        scope = {"project": {"name": PROJECT, "domain": {"name": "Default"}}}
        identity = {"methods": ["password"], "password": {"user": user}}
        return ask("POST", f"{URL}/auth/tokens", {"auth": {"identity": identity, "scope": scope}})[1]["X-Subject-Token"]

    def create(self, kind, path=None, **values):
        """kind: in the singular; path: where its like are, below /v3/."""
        return ask("POST", f"{URL}/{path or kind + 's'}", {kind: values}, self.headers())[0][kind]

    def application_credential(self):
        """For kuryr.conf, in place of the user's name and password."""
        made = self.create("application_credential", f"users/{self.user}/application_credentials", name="kuryr-controller")
        return (f"auth_type = v3applicationcredential\nauth_url = {URL}\napplication_credential_id = {made['id']}\n"
                f"application_credential_secret = {made['secret']}\n")
