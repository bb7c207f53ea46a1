"""The pods of etc/kubernetes/base/ovn/ovn-central.yaml without Kubernetes: etc/kubernetes/ovn-member with programs of any release, and
ovn-northd. The ConfigMap of the members is a folder here, which programs in place of curl and kubectl serve."""
import contextlib
import os
import shutil
import socket
import ssl
import subprocess

from harness.expectation import expect
from harness.namespaces import WORK
from harness.process import REPOSITORY, run
from ovn.central import EVENT_SECONDS, NORTHBOUND_PORT

STAND_IN, CONFIG_MAP, TLS = (WORK / name for name in ("stand-in", "config-map", "ovn-tls"))
# Of the pods, and of their Services.
ADDRESSES = {f"192.0.2.{number}": f"10.96.0.{number}" for number in (61, 62, 63)}
DATABASES = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}
PARTS = (*DATABASES, "relay")
# Of the members of the southbound database, which let no node in.
MEMBER_PORT, RAFT_PORT = 6645, 6644
CURL = f"""#!/bin/bash
# GET prints the ConfigMap; PATCH has --data '{{"data": {{"KEY": "VALUE" or null}}}}'.
data=
while [ $# -gt 0 ]; do [ "$1" != --data ] || data=$2; shift; done
cd {CONFIG_MAP}
if [[ $data =~ \\"([ns]b-[0-9a-f-]+)\\":\\ null ]]; then
  rm -f "${{BASH_REMATCH[1]}}"
elif [[ $data =~ \\"([ns]b-[0-9a-f-]+)\\" ]]; then
  touch "${{BASH_REMATCH[1]}}"
fi
for key in *; do [ ! -e "$key" ] || echo "\\"$key\\": \\"\\""; done
"""
EC = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"


def files_of(role):
    """The options for the keys of central, or of a node."""
    return f"--private-key={TLS}/{role}/tls.key", f"--certificate={TLS}/{role}/tls.crt", f"--ca-cert={TLS}/central/ca.crt"


def make_key(authority, role, name):
    """As kuryr-controller issues them."""
    folder = TLS / role
    folder.mkdir()
    run(f"openssl req {EC} -subj /CN={name} -keyout {folder}/tls.key -out {folder}/request")
    run(f"openssl x509 -req -in {folder}/request -CA {TLS}/{authority}.crt -CAkey {TLS}/{authority}.key -CAcreateserial -days 1 "
        f"-out {folder}/tls.crt")


def make_keys(chassis):
    """Of the members, and of a node with this chassis."""
    for authority in ("central", "nodes"):
        run(f"openssl req -x509 {EC} -days 1 -subj /CN={authority} -keyout {TLS}/{authority}.key -out {TLS}/{authority}.crt")
    make_key("central", "central", "ovn-central")
    make_key("nodes", "node", chassis)
    for authority, name in (("central", "ca.crt"), ("nodes", "nodes.crt")):
        shutil.copy(TLS / f"{authority}.crt", TLS / "central" / name)


def remotes(port):
    return ",".join(f"ssl:{address}:{port}" for address in ADDRESSES.values())


def set_up(chassis):
    """Makes the stand-ins, the Services and the keys."""
    for folder in (STAND_IN, CONFIG_MAP, TLS):
        folder.mkdir()
    shutil.copy(REPOSITORY / "etc/kubernetes/ovn-member", STAND_IN)
    (STAND_IN / "curl").write_text(CURL)
    (STAND_IN / "curl").chmod(0o755)
    for address in ADDRESSES:
        run(f"ip address add {address}/32 dev lo")
    run(f"ip route add 10.96.0.0/24 dev lo src {next(iter(ADDRESSES))}")
    rules = "".join(f"ip daddr {service} dnat to {pod}; " for pod, service in ADDRESSES.items())
    run("nft", "table ip services { chain output { type nat hook output priority -100; " + rules + "}; }")
    account = WORK.parent / "secrets/kubernetes.io/serviceaccount"
    account.mkdir(parents=True)
    (account / "token").write_text("token")
    make_keys(chassis)


def sbctl(release, port, role, *words):
    """ovn-sbctl with that role's key."""
    command = "ovn-sbctl", f"--db={remotes(port)}", *files_of(role), "--no-leader-only", "--timeout=5"
    return subprocess.run([*release.enter(), *command, *words], text=True, capture_output=True, check=False)


def ask_without_key(port):
    """What a server answers to a client without a certificate."""
    context = ssl.create_default_context(cafile=TLS / "central/ca.crt")
    context.check_hostname = False
    with socket.create_connection((next(iter(ADDRESSES)), port), EVENT_SECONDS) as plain, contextlib.suppress(ssl.SSLError, OSError):
        with context.wrap_socket(plain) as client:
            client.sendall(b'{"method": "list_dbs", "params": [], "id": 1}')
            return client.recv(1000)
    return b""


class Member:
    """Pod ovn-central-NUMBER: its containers."""

    def __init__(self, number):
        self.address = list(ADDRESSES)[number]
        self.folder = WORK / f"ovn-central-{number}"
        self.data, self.run = self.folder / "databases", self.folder / "run"
        for folder in (self.data, self.run):
            folder.mkdir(parents=True)
        self.env = {**os.environ, "POD": f"ovn-central-{number}", "ADDRESS": self.address, "PEERS": " ".join(ADDRESSES.values()),
                    "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "443",
                    "PATH": f"{STAND_IN}:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.release, self.processes = None, []

    def start(self, release):
        self.release = release
        for part in PARTS:
            self._start(part, STAND_IN / "ovn-member", part)
        self._start("northd", "ovn-northd", f"--ovnnb-db={remotes(NORTHBOUND_PORT)}", f"--ovnsb-db={remotes(MEMBER_PORT)}",
                    *files_of("central"))

    def _enter(self):
        return self.release.enter([("/run/ovn", self.run), ("/var/lib/kuryr-ovn", self.data), ("/etc/ovn-tls", TLS / "central")])

    def _start(self, name, *command):
        with open(self._log(name), "a", encoding="utf-8") as log:
            self.processes.append(subprocess.Popen([*self._enter(), *command], env=self.env, stdout=log, stderr=log))

    def stop(self):
        """As the kubelet ends a pod."""
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(EVENT_SECONDS)
        self.processes = []

    def execute(self, *command, **options):
        return subprocess.run([*self._enter(), *map(str, command)], env=self.env, text=True, capture_output=True, **options)

    def is_ready(self):
        """Its readiness probes."""
        return all(self.execute(STAND_IN / "ovn-member", part, "ready", check=False).returncode == 0 for part in PARTS)

    def schema_versions(self):
        """{database: the schema's version, as this member's server has it}"""
        return {database: self.execute("ovsdb-client", "get-schema-version", f"unix:/run/ovn/ovn{database}_db.sock", name,
                                       check=True).stdout.strip() for database, name in DATABASES.items()}

    def said(self):
        """What the servers of its release told."""
        return "".join(self._log(database).read_text() for database in DATABASES)

    def _log(self, name):
        return self.folder / f"{self.env['POD']}-{self.release.suite}-{name}.log"

    def expect_alive(self):
        expect(all(process.poll() is None for process in self.processes), f"a program of {self.env['POD']} has ended")
