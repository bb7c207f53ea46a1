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
from ovn.central import EVENT_SECONDS, NORTHBOUND_PORT, SOUTHBOUND_PORT

STAND_IN, CONFIG_MAP, TLS = (WORK / name for name in ("stand-in", "config-map", "ovn-tls"))
# Of the pods, and of their Services.
ADDRESSES = {f"192.0.2.{number}": f"10.96.0.{number}" for number in (61, 62, 63)}
DATABASES = {"nb": "OVN_Northbound", "sb": "OVN_Southbound"}
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
KUBECTL = f"""#!/bin/sh
# kubectl --namespace kube-system create secret generic NAME --from-file=FOLDER
cp -r "${{7#--from-file=}}" {TLS}/"$6"
"""


def files_of(role):
    """The options for the keys of a Secret of ovn-certificates."""
    folder = TLS / f"ovn-tls-{role}"
    return f"--private-key={folder}/tls.key", f"--certificate={folder}/tls.crt", f"--ca-cert={folder}/ca.crt"


def remotes(port):
    return ",".join(f"ssl:{address}:{port}" for address in ADDRESSES.values())


def set_up():
    """Makes the stand-ins, the Services and the certificates."""
    for folder in (STAND_IN, CONFIG_MAP, TLS):
        folder.mkdir()
    shutil.copy(REPOSITORY / "etc/kubernetes/ovn-member", STAND_IN)
    for name, text in (("curl", CURL), ("kubectl", KUBECTL)):
        (STAND_IN / name).write_text(text)
        (STAND_IN / name).chmod(0o755)
    for address in ADDRESSES:
        run(f"ip address add {address}/32 dev lo")
    run(f"ip route add 10.96.0.0/24 dev lo src {next(iter(ADDRESSES))}")
    rules = "".join(f"ip daddr {service} dnat to {pod}; " for pod, service in ADDRESSES.items())
    run("nft", "table ip services { chain output { type nat hook output priority -100; " + rules + "}; }")
    account = WORK.parent / "secrets/kubernetes.io/serviceaccount"
    account.mkdir(parents=True)
    (account / "token").write_text("token")
    run(str(REPOSITORY / "etc/kubernetes/ovn-certificates"), env={**os.environ, "PATH": f"{STAND_IN}:{os.environ['PATH']}"})


def ask_without_key(port):
    """What a server answers to a client without a certificate."""
    context = ssl.create_default_context(cafile=TLS / "ovn-tls-controller/ca.crt")
    context.check_hostname = False
    with socket.create_connection((next(iter(ADDRESSES)), port), EVENT_SECONDS) as plain, contextlib.suppress(ssl.SSLError, OSError):
        with context.wrap_socket(plain) as client:
            client.sendall(b'{"method": "list_dbs", "params": [], "id": 1}')
            return client.recv(1000)
    return b""


class Member:
    """Pod ovn-central-NUMBER: its three containers."""

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
        for database in DATABASES:
            self._start(database, STAND_IN / "ovn-member", database)
        self._start("northd", "ovn-northd", f"--ovnnb-db={remotes(NORTHBOUND_PORT)}", f"--ovnsb-db={remotes(SOUTHBOUND_PORT)}",
                    *files_of("central"))

    def _enter(self):
        return self.release.enter([("/run/ovn", self.run), ("/var/lib/kuryr-ovn", self.data), ("/etc/ovn-tls", TLS / "ovn-tls-central")])

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
        return all(self.execute(STAND_IN / "ovn-member", database, "ready", check=False).returncode == 0 for database in DATABASES)

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
