"""The fake API server of tests/fake_apiserver, over TLS, and pods with VIFs as Kuryr's controller plans them."""
import copy
import json
import os
import ssl
import subprocess
import urllib.request
import uuid
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SERVER = os.environ.get("KURYR_FAKE_APISERVER", str(REPOSITORY / "build/dev/bin/fake-apiserver"))
TOKEN = "conformance-token-7f3a9c"
VIF = json.loads((REPOSITORY / "tests/data/demo/vif.json").read_text())


def make_certificates(folder):
    subprocess.run([REPOSITORY / "tests/fake_apiserver/make-certs", folder], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)


class Plan:
    """One port, as it is written on its pod."""

    def __init__(self, number, active=True, second_address=None, vhost_user=None):
        """second_address: of IPv4; vhost_user: the folder of its socket, for a port of that kind."""
        self.port = str(uuid.uuid4())
        self.tap = ("tap" + self.port)[:14]
        self.mac = f"fa:16:3e:00:{number >> 8:02x}:{number & 255:02x}"
        self.address, self.address6 = f"10.10.{1 + (number >> 8)}.{number & 255}", f"fd00:10::{number:x}"
        self.active = active
        self.second_address = second_address
        self.vhost_user = vhost_user

    def annotation(self):
        vif = copy.deepcopy(VIF)
        data = vif["versioned_object.data"]
        data.update(id=self.port, vif_name=self.tap, address=self.mac, active=self.active)
        data["port_profile"]["versioned_object.data"]["interface_id"] = self.port
        subnets = data["network"]["versioned_object.data"]["subnets"]["versioned_object.data"]["objects"]
        for subnet, address in zip(subnets, (self.address, self.address6)):
            ips = subnet["versioned_object.data"]["ips"]["versioned_object.data"]["objects"]
            ips[0]["versioned_object.data"]["address"] = address
            if self.second_address and ":" not in address:
                ips.append(copy.deepcopy(ips[0]))
                ips[1]["versioned_object.data"]["address"] = self.second_address
        if self.vhost_user:
            name = "vhu" + self.port[:11]
            vif.update({"versioned_object.name": "VIFVHostUser", "versioned_object.version": "1.1"})
            data.update(vif_name=name, path=f"{self.vhost_user}/{name}", mode="client")
            del data["bridge_name"]
        return {"openstack.org/kuryr-vif": json.dumps(vif)}


class KubeApi:
    def __init__(self, certificates, log):
        self.ca = f"{certificates}/ca.crt"
        self.tls = ssl.create_default_context(cafile=self.ca)
        with open(log, "wb") as errors:
            self.process = subprocess.Popen([SERVER, "--tls-dir", certificates, "--token", TOKEN],
                                            stdout=subprocess.PIPE, stderr=errors)
        self.url = self.process.stdout.readline().decode().strip()

    def request(self, method, path, body=None, kind="application/json", token=True):
        headers = {"Content-Type": kind, **({"Authorization": f"Bearer {TOKEN}"} if token else {})}
        request = urllib.request.Request(self.url + path, None if body is None else json.dumps(body).encode(), headers,
                                         method=method)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as answer:
            return answer.read()

    def create_pod(self, name, annotations):
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "annotations": annotations},
               "spec": {"nodeName": "node1", "containers": [{"name": "pause", "image": "pause"}]}}
        return json.loads(self.request("POST", "/api/v1/namespaces/default/pods", pod))["metadata"]["uid"]

    def annotate(self, name, annotations):
        self.request("PATCH", f"/api/v1/namespaces/default/pods/{name}", {"metadata": {"annotations": annotations}},
                     "application/merge-patch+json")

    def delete_pod(self, name):
        self.request("DELETE", f"/api/v1/namespaces/default/pods/{name}?gracePeriodSeconds=0")

    def fault(self, **fault):
        self.request("POST", "/fake/faults", fault, token=False)

    def stop(self):
        self.process.kill()
        self.process.wait()
