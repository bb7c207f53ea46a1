"""Facts of what releases after 1.20 brought: ServiceCIDRs, sidecars, users of pods' own."""
import json
import time
import urllib.error

from harness.expectation import POLL_SECONDS, expect, expect_same
from harness.kube_api import PODS
from harness.process import run
from harness.report import Skipped
from kubernetes import runtime
from kubernetes.controllers import is_true
from kubernetes.images import AGNHOST
from kubernetes.network_pods import PORT, SECONDS, ask, until_answered

SERVICE_CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
INVALID = 422
# The main container begins when the kubelet has reached the sidecar.
SIDECAR = {"name": "sidecar", "image": AGNHOST, "imagePullPolicy": "Never", "args": ["netexec", f"--http-port={PORT}"],
           "restartPolicy": "Always", "startupProbe": {"httpGet": {"path": "/hostname", "port": PORT}, "periodSeconds": 1}}
MAIN = {"name": "main", "image": AGNHOST, "imagePullPolicy": "Never"}


class LaterFacts:
    def __init__(self, cluster, facts, pods, web):
        """cluster: TwoNodes; pods: NetworkPods; web: a pod that answers."""
        self.cluster, self.api, self.release, self.fact, self.pods, self.web = cluster, cluster.api, cluster.release, facts.fact, pods, web

    def state(self):
        for what, (text, check) in {
                "ServiceCIDRs": ("a pod that comes after a ServiceCIDR reaches its Services", self.service_cidr),
                "sidecars": ("a sidecar is reached by its probe before its pod's main container runs, and by the pod's Service",
                             self.sidecar),
                "hostUsers": ("a pod with users of its own (hostUsers: false) is reached, and reaches others", self.own_users)}.items():
            with self.fact(text):
                self.release.need(33, what)
                pod = check(self.cluster.nodes[1])
                self.api.request("DELETE", f"{PODS}/{pod.name}")

    def service_cidr(self, node):
        families = self.cluster.families
        self.api.request("POST", SERVICE_CIDRS, {
            "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "later"},
            "spec": {"cidrs": [family.later_services for family in families.values()]}})
        self.api.wait("it is ready", lambda found: is_true(found["", "later"], "Ready"), SERVICE_CIDRS)
        late = self.pods.make({"late": (node, None)})["late"]
        for number, family in families.items():
            address = self.serve(number, family.later_service(7))["clusterIP"]
            until_answered(late.netns, address, 80, self.web.name)
            routes = json.loads(run("nsenter", f"--net={late.netns}", "ip", "-json", f"-{number}", "route", "show", "dev", "eth0"))
            expect_same(self.cluster.pods_route_services, family.later_services in [route["dst"] for route in routes], f"{routes}")
        return late

    def serve(self, family, address):
        """The API server hears of a ServiceCIDR as everybody does."""
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                return self.pods.serve(self.web, family, clusterIP=address)
            except urllib.error.HTTPError as refused:
                expect(refused.code == INVALID and time.monotonic() < deadline, f"{refused}: {refused.read().decode()}")
            time.sleep(POLL_SECONDS)

    def sidecar(self, node):
        helped = self.pods.make({"helped": (node, None)}, initContainers=[SIDECAR], containers=[MAIN])["helped"]
        for family, address in helped.addresses.items():
            expect_same(helped.name, ask(self.web.netns, address), helped.name)
            until_answered(self.web.netns, self.pods.serve(helped, family)["clusterIP"], 80, helped.name)
        return helped

    def own_users(self, node):
        if runtime.version() < (2,):
            raise Skipped(f"{runtime.said()}: users of a pod's own need containerd 2")
        # The kernel mounts /proc for such users only where the whole of it is to be seen, and pin_sysctls() hides parts.
        whole = node.host.work / "proc"
        node.host.run(f"mkdir {whole}")
        node.host.run(f"mount -t proc proc {whole}")
        apart = self.pods.make({"apart": (node, None)}, hostUsers=False)["apart"]
        first, outside, _ = apart.run("cat", "/proc/self/uid_map").split()
        expect(first == "0" != outside, f"users of the node: {first} is {outside}")
        for address in apart.addresses.values():
            expect_same(apart.name, ask(self.web.netns, address), apart.name)
        for address in self.web.addresses.values():
            expect_same(self.web.name, ask(apart.netns, address), self.web.name)
        return apart
