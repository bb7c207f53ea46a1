"""A real API server whose objects are JSON in etcd, with what kuryr-controller's manifests say; and requests that outlive it."""
import json
import time
import urllib.error
from http.client import HTTPException

from controller.history import Etcd, History
from harness.expectation import Failed
from harness.kube_api import KubeApiServer
from harness.namespaces import WORK
from harness.process import REPOSITORY

CONTROLLER_TOKEN = "controller-token-51c2"
CONTROLLER_USER = "system:serviceaccount:kube-system:kuryr-controller"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
PATHS = {
    "CustomResourceDefinition": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "ServiceAccount": "/api/v1/namespaces/kube-system/serviceaccounts",
    "ClusterRole": f"{RBAC}/clusterroles", "ClusterRoleBinding": f"{RBAC}/clusterrolebindings",
    "Role": f"{RBAC}/namespaces/kube-system/roles", "RoleBinding": f"{RBAC}/namespaces/kube-system/rolebindings"}
NODES = ("node1", "node2", "node3")
NAMESPACES = ("default", "green")
OUTAGE_SECONDS = 120
AGAIN_SECONDS = 0.1
PASSING = (429, 500, 502, 503, 504)


class JsonApiServer(KubeApiServer):
    def __init__(self, programs, folder, users, options, address):
        """options: those of kube-apiserver beside the usual ones; a later one counts. address: it listens there."""
        self.url = f"https://{address}:6443"
        self.options = [*KubeApiServer.options, "--storage-media-type=application/json", "--etcd-compaction-interval=0",
                        f"--bind-address={address}", *options]
        self.users = f"{KubeApiServer.users}{CONTROLLER_TOKEN},{CONTROLLER_USER},2\n{users}"
        super().__init__(programs, folder)

    def apply(self, path, text):
        self.open("PATCH", f"{path}?fieldManager=test", text.encode(), "application/apply-patch+yaml").close()


def apply(api, text):
    """Each document of a manifest."""
    for document in text.split("\n---\n"):
        kind = document.split("\nkind: ")[1].split()[0]
        name = document.split("\nmetadata:\n  name: ")[1].split()[0]
        api.apply(f"{PATHS[kind]}/{name}", document)


class Cluster:
    def __init__(self, programs, users="", options=(), address="127.0.0.1"):
        """users: lines of --token-auth-file, beside those that every cluster has; options, address: JsonApiServer's."""
        self.api = JsonApiServer(programs, WORK / "kubernetes", users, options, address)
        self.etcd = Etcd(self.api.folder / "localhost:1")
        self.history = History(self.etcd)
        for name in ("kuryrport/kuryrport.yaml", "controller/rbac-controller.yaml"):
            self.apply((REPOSITORY / "etc/kubernetes/base" / name).read_text())
        for node in NODES:
            self.api.request("POST", "/api/v1/nodes", {"metadata": {"name": node}})
        for namespace in NAMESPACES[1:]:
            self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        self.api.wait_for("/apis/openstack.org/v1/kuryrports")

    def apply(self, text):
        apply(self.api, text)

    def allow_services(self):
        """What kuryr-controller needs for [ovn] services = ovn."""
        self.apply((REPOSITORY / "etc/kubernetes/base/ovn/rbac-services.yaml").read_text())

    def insist(self, method, path, body=None, **options):
        """The answer, however often the API server dies meanwhile; HTTPError for what it refuses. A request that it may have
        heard is sent again."""
        deadline = time.monotonic() + OUTAGE_SECONDS
        while True:
            try:
                return json.loads(self.api.request(method, path, body, **options))
            except urllib.error.HTTPError as refused:
                if refused.code not in PASSING:
                    raise
            except (OSError, HTTPException, ValueError) as failed:  # not there, or gone in the middle
                if time.monotonic() > deadline:
                    raise Failed(f"no API server for {OUTAGE_SECONDS} s: {failed}") from failed
            time.sleep(AGAIN_SECONDS)

    def insist_gently(self, refusals, *request, **options):
        """None where it is refused with one of these codes."""
        try:
            return self.insist(*request, **options)
        except urllib.error.HTTPError as refused:
            if refused.code not in refusals:
                raise Failed(f"{request[0]} {request[1]}: {refused.code} {refused.read().decode()[:300]}") from refused
            return None
