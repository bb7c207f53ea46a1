"""Pods of two nodes that answer by HTTP, their Services, and what asks them."""
import itertools
import json
import ssl
import time
import urllib.request
from dataclasses import dataclass

from harness import namespaces
from harness.expectation import POLL_SECONDS, Failed, expect
from harness.kube_api import PODS
from kubernetes.controllers import is_true
from kubernetes.images import AGNHOST
from kubernetes.network import in_url

SERVICES = "/api/v1/namespaces/default/services"
# agnhost's.
PORT = 8080
# kube-proxy needs so long to write its rules, at most.
SECONDS, CALL_SECONDS = 20, 3


@dataclass(frozen=True)
class NetworkPod:
    name: str
    node: object  # KubeletNode
    addresses: dict  # {family: address}
    netns: str
    container: str  # its id at the runtime

    def run(self, *command):
        """The output of a program in its container."""
        code, said, errors = self.node.cri.exec_sync(self.container, list(command))
        if code:
            raise Failed(f"{' '.join(command)} in {self.name} ended with {code}: {said}{errors}")
        return said


class NetworkPods:
    def __init__(self, cluster):
        """cluster: TwoNodes."""
        self.cluster, self.api, self.numbers = cluster, cluster.api, itertools.count(1)

    def make(self, places, **fields):
        """places: {name: (node, host port or None)}; fields: of their specifications. The pods, ready, by name."""
        for name, (node, host_port) in places.items():
            pod = specification(name, node.name, host_port)
            pod["spec"].update(fields)
            self.api.request("POST", PODS, pod)
        pods = {}

        def all_ready(found):
            pods.update((name, pod) for (_, name), pod in found.items() if name in places and is_true(pod, "Ready"))
            return len(pods) == len(places)
        self.api.wait("they are ready", all_ready, PODS)
        return {name: self.read(pod, places[name][0]) for name, pod in pods.items()}

    @staticmethod
    def read(pod, node):
        status, metadata = pod["status"], pod["metadata"]
        addresses = {6 if ":" in each["ip"] else 4: each["ip"] for each in status["podIPs"]}
        # /var/run is a link, which would lead out of the host.
        netns = node.cri.netns(node.cri.sandbox_of(metadata["uid"])).replace("/var/run/", "/run/")
        return NetworkPod(metadata["name"], node, addresses, str(node.host.path(netns)),
                          status["containerStatuses"][0]["containerID"].removeprefix("containerd://"))

    def serve(self, pod, family, **fields):
        """Makes a Service of that pod alone, and gives its specification and name. fields: of the specification."""
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{pod.name}-{next(self.numbers)}"}, "spec": {
            "selector": {"name": pod.name}, "ports": [{"port": 80, "targetPort": PORT}], "ipFamilies": [f"IPv{family}"],
            "ipFamilyPolicy": "SingleStack", **fields}}
        made = json.loads(self.api.request("POST", SERVICES, body))
        return {**made["spec"], "name": made["metadata"]["name"]}

    def ask_api(self, pod):
        """The pod asks the API server at its Service."""
        address = next(iter(self.cluster.families.values())).service(1)
        tls = ssl.create_default_context(cafile=self.api.ca)
        with namespaces.network(pod.netns):
            with urllib.request.urlopen(f"https://{in_url(address)}/version", timeout=CALL_SECONDS, context=tls) as answer:
                expect("gitVersion" in json.load(answer), pod.name)


def specification(name, node, host_port):
    port = {"containerPort": PORT, **({"hostPort": host_port} if host_port else {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"name": name}}, "spec": {
        "nodeName": node, "terminationGracePeriodSeconds": 1, "containers": [{
            "name": "main", "image": AGNHOST, "imagePullPolicy": "Never", "args": ["netexec", f"--http-port={PORT}"],
            "ports": [port], "readinessProbe": {"httpGet": {"path": "/hostname", "port": PORT}, "periodSeconds": 1}}]}}


def ask(netns, address, port=PORT, path="hostname", seconds=CALL_SECONDS):
    """What is answered, from a network namespace."""
    with namespaces.network(netns), urllib.request.urlopen(f"http://{in_url(address)}:{port}/{path}", timeout=seconds) as answer:
        return answer.read().decode().strip()


def client_seen(netns, address, port=PORT):
    """The address that the answering pod sees."""
    return ask(netns, address, port, "clientip").rpartition(":")[0].strip("[]")


def until_answered(netns, address, port, name):
    """Until the pod of that name answers, as rules for Services come some time after them."""
    deadline = time.monotonic() + SECONDS
    while True:
        try:
            told = ask(netns, address, port)
            break
        except OSError as error:
            if time.monotonic() > deadline:
                raise Failed(f"{address} port {port} has not answered for {SECONDS} s: {error}") from error
        time.sleep(POLL_SECONDS)
    if told != name:
        raise Failed(f"{told} answered at {address}, not {name}")
