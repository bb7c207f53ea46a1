"""API servers over TLS: the fake one of tests/fake_apiserver, and a real one with etcd. Both keep their objects over a restart."""
import contextlib
import itertools
import json
import os
import ssl
import subprocess
import time
import urllib.error
import urllib.request

from harness.host import HERE
from harness.pod import Pod
from harness.process import REPOSITORY, run

FAKE = os.environ.get("KURYR_FAKE_APISERVER", str(REPOSITORY / "build/release/bin/fake-apiserver"))
CACHE = os.environ.get("KURYR_CACHE_DIR", os.path.expanduser("~/.cache/kuryr-cni"))
# The environment variable of a folder with Kubernetes' programs, in place of build-apiserver's.
PROGRAMS = "KUBEBUILDER_ASSETS"
TOKEN = "conformance-token-7f3a9c"
PODS = "/api/v1/namespaces/default/pods"
MERGE_PATCH = "application/merge-patch+json"
START_SECONDS = 120
POLL_SECONDS = 0.05


def make_certificates(folder):
    """Makes the folder, with certificates."""
    run(REPOSITORY / "tests/fake_apiserver/make-certs", folder)


def use_programs(folder):
    """Kubernetes' programs are those of that folder, which has a release's. A type of argparse's options."""
    os.environ[PROGRAMS] = os.path.abspath(folder)
    return os.environ[PROGRAMS]


def find_programs(*options):
    """(folder of kube-apiserver, or None; what build-apiserver said, which is printed where there is one). The folder is the first in
    PATH then, for etcd and kubectl. options: build-apiserver's."""
    found = subprocess.run([REPOSITORY / "tests/kubernetes/build-apiserver", "--find", *options, CACHE], text=True,
                           capture_output=True, check=False)
    folder, said = found.stdout.strip(), found.stderr.strip()
    if folder:
        print(said, end="\n" * bool(said), flush=True)
        os.environ["PATH"] = f"{folder}:{os.environ['PATH']}"
    return folder or None, said


class KubeApi:
    """Requests of an administrator. Thread-safe."""

    name = url = process = None

    def __init__(self, certificates):
        self.ca = f"{certificates}/ca.crt"
        self.tls = ssl.create_default_context(cafile=self.ca)
        self.numbers = itertools.count(11)  # of pods, on all nodes

    def open(self, method, path, body=None, kind="application/json", token=TOKEN, timeout=60):
        """The answer, which the caller closes. body: bytes; timeout: seconds without any."""
        headers = {"Content-Type": kind, **({"Authorization": f"Bearer {token}"} if token else {})}
        request = urllib.request.Request(self.url + path, body, headers, method=method)
        return urllib.request.urlopen(request, context=self.tls, timeout=timeout)

    def request(self, method, path, body=None, **options):
        """body: a JSON value."""
        with self.open(method, path, None if body is None else json.dumps(body).encode(), **options) as answer:
            return answer.read()

    def get(self, path):
        return json.loads(self.request("GET", path))

    def patch(self, path, change):
        self.request("PATCH", path, change, kind=MERGE_PATCH)

    def write_kubeconfig(self, file, token=TOKEN):
        file.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": self.url, "certificate-authority": self.ca}}],
            "users": [{"name": "it", "user": {"token": token}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}]}))
        return file

    def create_pod(self, name, plan=None, annotations=None, node="node1"):
        """annotations: the plan's, where not given."""
        annotations = annotations if annotations is not None else plan.annotation() if plan else {}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
               "spec": {"nodeName": node, "containers": [{"name": "pause", "image": "pause"}]}}
        return Pod(name, json.loads(self.request("POST", PODS, pod))["metadata"]["uid"], plan)

    def annotate(self, pod, annotations=None):
        """Writes these annotations on the pod, or its plan as it is now."""
        self.patch(f"{PODS}/{pod.name}", {"metadata": {"annotations": annotations or pod.plan.annotation()}})

    def delete_pod(self, pod):
        self.request("DELETE", f"{PODS}/{pod.name}?gracePeriodSeconds=0")

    def wait_for(self, path):
        """Waits until the API server answers there."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            with contextlib.suppress(OSError):
                self.request("GET", path)
                return
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{self.name} does not start")
            time.sleep(POLL_SECONDS)

    def stop(self):
        self.process.kill()
        self.process.wait()


class FakeApiServer(KubeApi):
    """Keeps its objects in memory: instead of being killed it drops its watches and refuses connections for a while."""

    name = "fake-apiserver"
    REFUSED_MS = 1500

    def __init__(self, certificates, log, program=FAKE, address="127.0.0.1"):
        """address: the API server listens there."""
        super().__init__(certificates)
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([program, "--tls-dir", certificates, "--token", TOKEN, "--address", address],
                                            stdout=subprocess.PIPE, stderr=errors)
        self.url = self.process.stdout.readline().decode().strip()

    def fault(self, **fault):
        self.request("POST", "/fake/faults", fault, token=None)

    def kill(self):
        self.fault(kind="refuse", for_ms=self.REFUSED_MS)
        with contextlib.suppress(OSError):  # connections are refused already
            self.fault(kind="drop_watches")

    def start(self):
        self.wait_for("/api/v1/pods?limit=1")

    def pids(self):
        return {self.process.pid}


class KubeApiServer(KubeApi):
    """kube-apiserver, and an etcd that keeps the objects while kube-apiserver is away."""

    name = "kube-apiserver"
    url = "https://127.0.0.1:6443"
    options = [
        "--etcd-servers=unix://localhost:1", "--bind-address=127.0.0.1", "--secure-port=6443",
        "--advertise-address=192.0.2.1", "--endpoint-reconciler-type=none",
        "--tls-cert-file=tls/server.crt", "--tls-private-key-file=tls/server.key", "--token-auth-file=tls/tokens.csv",
        # That admission plugin refuses pods while no controller makes their service accounts.
        "--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount",
        "--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=tls/server.key",
        "--service-account-key-file=tls/server.crt", "--service-cluster-ip-range=10.96.0.0/16"]
    # Lines of --token-auth-file.
    users = f"{TOKEN},admin,1,system:masters\n"

    def __init__(self, programs, folder, host=HERE, addresses=()):
        """programs: find_programs' folder; folder: a new one, for all files of both programs; addresses: those of its certificate
        beside the usual ones."""
        self.programs, self.folder, self.host = programs, folder, host
        folder.mkdir()
        run(REPOSITORY / "tests/kubernetes/make-identities", folder / "tls", *addresses)
        super().__init__(folder / "tls")
        (folder / "tls/tokens.csv").write_text(self.users)
        self.etcd = self.run_program("etcd", [
            "--data-dir=etcd", "--unsafe-no-fsync", "--listen-client-urls=unix://localhost:1",
            "--advertise-client-urls=unix://localhost:1", "--listen-peer-urls=unix://localhost:2",
            "--initial-advertise-peer-urls=unix://localhost:2", "--initial-cluster=default=unix://localhost:2"])
        self.start()

    def run_program(self, program, options):
        with open(self.folder / f"{os.path.basename(program)}.log", "ab") as log:
            return self.host.start(["env", f"--chdir={self.folder}", program, *options], stdout=log, stderr=log)

    def start(self):
        """Ready when it returns."""
        self.process = self.run_program(f"{self.programs}/{self.name}", self.options)
        for path in ("/readyz", "/api/v1/namespaces/default"):
            self.wait_for(path)

    def kill(self):
        self.stop()

    def pids(self):
        return {self.etcd.pid, self.process.pid}
