"""Users who change, as often as they may, all that ClusterRole edit and one more role let them write in their namespaces."""
import http.client
import itertools
import json
import multiprocessing
import os
import signal
import ssl
import time
from urllib.parse import urlsplit

from controller import definitions
from controller.cluster import RBAC
from controller.tenants import Tenant
from harness.kube_api import MERGE_PATCH

BLOCKS, POLICIES = 1000, 20
SERVICES, ENDPOINTS = 10, 100
PODS = 5
TIMEOUT = 30
# Of ClusterRole edit, which is empty without a kube-controller-manager.
EDIT = [{"apiGroups": [group], "resources": list(resources), "verbs": ["*"]} for group, resources in {
    "": ("pods", "services", "configmaps"), "networking.k8s.io": ("networkpolicies",), "discovery.k8s.io": ("endpointslices",)}.items()]


def blocks(number):
    """Of a policy's rule: they differ from one number to the next."""
    return [{"ipBlock": {"cidr": f"172.{16 + number % 16}.{each // 250}.{each % 250}/32"}} for each in range(BLOCKS)]


class StormingUser(Tenant):
    def __init__(self, name):
        super().__init__(name, has_more=True)
        self.config_maps = f"/api/v1/namespaces/{name}/configmaps"
        self.policies = f"/apis/networking.k8s.io/v1/namespaces/{name}/networkpolicies"
        self.services = f"/api/v1/namespaces/{name}/services"
        self.networks, self.claims = (definitions.path(plural, name) for plural in (definitions.NETWORKS, definitions.CLAIMS))
        self.requests = multiprocessing.Value("i", 0)

    def move_in(self, cluster):
        super().move_in(cluster)
        # v1beta1 before Kubernetes 1.21
        version = cluster.api.get("/apis/discovery.k8s.io")["preferredVersion"]["version"]
        self.slices = f"/apis/discovery.k8s.io/{version}/namespaces/{self.name}/endpointslices"
        cluster.insist("POST", f"{RBAC}/namespaces/{self.name}/roles", {"metadata": {"name": "storm"}, "rules": EDIT})
        self.bind("storm", {"kind": "Role", "name": "storm"})

    def settle(self, run_pod):
        """Makes all that is to change; run_pod(namespace, metadata) plugs a pod."""
        for number in range(PODS):
            run_pod(self.name, {"name": f"pod-{number}", "labels": {"app": "storm"}})
        for number in range(POLICIES):
            self.insist("POST", self.policies, self.policy(number, 0))
        for number in range(SERVICES):
            self.insist("POST", self.services, {"metadata": {"name": f"service-{number}"}, "spec": {"ports": [{"port": 80}]}})
            self.insist("POST", self.slices, self.slice(number, 0))
        self.insist("POST", self.networks, definitions.thing(definitions.NETWORKS, "network"))
        self.insist("POST", self.claims, definitions.thing(definitions.CLAIMS, "claim", spec={}))

    def insist(self, method, path, body=None):
        self.cluster.insist(method, path, body, token=self.token)

    def policy(self, number, change):
        return {"metadata": {"name": f"policy-{number}"}, "spec": {
            "podSelector": {"matchLabels": {"app": "storm"}}, "ingress": [{"from": blocks(change)}]}}

    def slice(self, number, change):
        return {"metadata": {"name": f"slice-{number}", "labels": {"kubernetes.io/service-name": f"service-{number}"}},
                "addressType": "IPv4", "ports": [{"name": "", "port": 8000 + change % 100, "protocol": "TCP"}],
                "endpoints": [{"addresses": [f"10.44.{change % 200}.{each + 1}"]} for each in range(ENDPOINTS)]}

    # ---- the storm
    def changes(self, change):
        """One of each kind."""
        number = change % POLICIES
        yield "PUT", f"{self.policies}/policy-{number}", self.policy(number, change)
        yield "PATCH", f"{self.pods}/pod-{change % PODS}", {"metadata": {"labels": {"app": "storm", "change": str(change)}}}
        yield "PUT", f"{self.slices}/slice-{number % SERVICES}", self.slice(number % SERVICES, change)
        yield "PATCH", f"{self.services}/service-{number % SERVICES}", {"spec": {"ports": [{"port": 80 + change % 100}]}}
        yield "PATCH", f"{self.pods}/pod-{change % PODS}", {"metadata": {"annotations": {"k8s.v1.cni.cncf.io/networks": f"n{change}"}}}
        yield "PATCH", f"{self.networks}/network", {"metadata": {"annotations": {"openstack.org/kuryr-config": f'{{"pool": "{change}"}}'}}}
        yield "PATCH", f"{self.claims}/claim", {"metadata": {"labels": {"change": str(change)}}}
        yield "POST", self.pods, {"metadata": {"name": f"passing-{change}", "labels": {"app": "storm"}}, "spec": {
            "nodeName": "node2", "containers": [{"name": "pause", "image": "pause"}]}}
        yield "DELETE", f"{self.pods}/passing-{change}?gracePeriodSeconds=0", None

    def start(self, rate):
        """In a process of its own; rate: the most requests in a second."""
        self.process = multiprocessing.Process(target=self.storm, args=(rate,), daemon=True)
        self.process.start()

    def storm(self, rate):
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        url = urlsplit(self.cluster.api.url)
        connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=TIMEOUT,
                                                 context=ssl.create_default_context(cafile=self.cluster.api.ca))
        next_at = time.monotonic()
        for change in itertools.count(1):
            for method, path, body in self.changes(change):
                kind = MERGE_PATCH if method == "PATCH" else "application/json"
                connection.request(method, path, body and json.dumps(body), {"Content-Type": kind, "Authorization": f"Bearer {self.token}"})
                connection.getresponse().read()
                self.requests.value += 1
                next_at = max(next_at + 1 / rate, time.monotonic() - 1)
                time.sleep(max(next_at - time.monotonic(), 0))

    def hold(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def let_go(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self):
        self.let_go()
        self.process.terminate()
        self.process.join()
