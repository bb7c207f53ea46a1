"""API servers that can be taken away and come back with all they knew."""
import os
import ssl
import subprocess
import time
import urllib.error

from cni_conformance import kube_api
from cni_conformance.kube_api import REPOSITORY, TOKEN

START_SECONDS = 120
POLL_SECONDS = 0.05
CACHE = os.environ.get("KURYR_CACHE_DIR", os.path.expanduser("~/.cache/kuryr-cni"))


def find_programs(*options):
    """(folder of kube-apiserver and etcd, or None; what build-apiserver said). options: its own."""
    found = subprocess.run([REPOSITORY / "tests/kubernetes/build-apiserver", "--find", *options, CACHE], text=True,
                           capture_output=True, check=False)
    return (found.stdout.strip() or None), found.stderr.strip()


def wait_until(answers, process, what):
    deadline = time.monotonic() + START_SECONDS
    while not answers():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{what} does not start")
        time.sleep(POLL_SECONDS)


class KubeApiServer(kube_api.KubeApi):
    """kube-apiserver, and an etcd that keeps the objects while it is away."""

    name = "kube-apiserver"
    url = "https://127.0.0.1:6443"
    options = [
        "--etcd-servers=unix://localhost:1", "--bind-address=127.0.0.1", "--secure-port=6443",
        "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
        "--tls-cert-file=tls/server.crt", "--tls-private-key-file=tls/server.key", "--token-auth-file=tls/tokens.csv",
        # Pods are refused while nobody makes their service accounts.
        "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=tls/server.key",
        "--service-account-key-file=tls/server.crt", "--service-cluster-ip-range=10.96.0.0/16"]

    # For --token-auth-file.
    users = f"{TOKEN},admin,1,system:masters\n"

    def __init__(self, programs, folder):
        """folder: a new one, for all files of both."""
        self.programs, self.folder = programs, folder
        folder.mkdir()
        subprocess.run([REPOSITORY / "tests/kubernetes/make-identities", folder / "tls"], check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        (folder / "tls/tokens.csv").write_text(self.users)
        self.ca = str(folder / "tls/ca.crt")
        self.tls = ssl.create_default_context(cafile=self.ca)
        self.etcd = self.run_program("etcd", [
            "--data-dir=etcd", "--unsafe-no-fsync", "--listen-client-urls=unix://localhost:1",
            "--advertise-client-urls=unix://localhost:1", "--listen-peer-urls=unix://localhost:2",
            "--initial-advertise-peer-urls=unix://localhost:2", "--initial-cluster=default=unix://localhost:2"])
        self.start()

    def run_program(self, name, options):
        with open(self.folder / f"{name}.log", "ab") as log:
            return subprocess.Popen([f"{self.programs}/{name}", *options], cwd=self.folder, stdout=log, stderr=log)

    def start(self):
        """Ready when it returns."""
        self.process = self.run_program(self.name, self.options)
        for path in ("/readyz", "/api/v1/namespaces/default"):
            wait_until(lambda path=path: self.answers(path), self.process, self.name)

    def answers(self, path):
        try:
            return bool(self.request("GET", path))
        except (OSError, urllib.error.URLError):
            return False

    def kill(self):
        self.stop()

    def pids(self):
        return {self.etcd.pid, self.process.pid}


class FakeApiServer(kube_api.KubeApi):
    """Keeps its objects in memory: instead of being killed it drops its watches and refuses connections for a while."""

    name = "fake-apiserver"
    REFUSED_MS = 1500

    def kill(self):
        self.fault(kind="refuse", for_ms=self.REFUSED_MS)
        try:
            self.fault(kind="drop_watches")
        except OSError:
            pass  # refused already

    def start(self):
        wait_until(self.answers, self.process, self.name)

    def answers(self):
        try:
            return bool(self.request("GET", "/api/v1/pods?limit=1"))
        except (OSError, urllib.error.URLError):
            return False

    def pids(self):
        return {self.process.pid}
