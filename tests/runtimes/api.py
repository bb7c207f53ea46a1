"""API mode's other half: an API server in memory, with pods that a producer has annotated."""
import json
import ssl
import subprocess
import urllib.request
from pathlib import Path

from node import run

WORK = Path("/run/node/api")
TOKEN = "runtimes-token"
CONF = Path("/etc/kuryr/kuryr.conf")


class ApiServer:
    def __init__(self):
        WORK.mkdir()
        run(["tests/fake_apiserver/make-certs", WORK / "tls"])
        (WORK / "token").write_text(TOKEN)
        server = subprocess.Popen(["/run/node/fake-apiserver", "--tls-dir", WORK / "tls", "--token", TOKEN],
                                  stdout=subprocess.PIPE, text=True)
        self._url = server.stdout.readline().strip()
        self._tls = ssl.create_default_context(cafile=WORK / "tls/ca.crt")
        CONF.parent.mkdir(exist_ok=True)
        CONF.write_text(f"[kubernetes]\napi_root = {self._url}\nssl_ca_crt_file = {WORK}/tls/ca.crt\n"
                        f"token_file = {WORK}/token\n")

    def create_pod(self, number):
        """A pod with a port for Open vSwitch; its (namespace, name, uid)."""
        pod = {"apiVersion": "v1", "kind": "Pod", "spec": {"nodeName": "node1"},
               "metadata": {"name": f"pod-{number}",
                            "annotations": {"openstack.org/kuryr-vif": json.dumps(vif(number))}}}
        request = urllib.request.Request(
            self._url + "/api/v1/namespaces/default/pods", json.dumps(pod).encode(),
            {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"})
        with urllib.request.urlopen(request, context=self._tls) as answer:
            return ("default", f"pod-{number}", json.load(answer)["metadata"]["uid"])


def vif(number):
    port = f"{number:08x}-0000-4000-8000-000000000000"
    values = {"id": port, "tap": f"tap{port[:11]}", "mac": f"fa:16:3e:00:01:{number:02x}",
              "ip": f"10.10.1.{number}", "ip6": f"fd00:10::{number:x}"}
    words = [word for name, value in values.items() for word in ("--arg", name, value)]
    return json.loads(run(["jq", *words, "--argjson", "active", "true", "-f", "tests/data/demo/annotation.jq",
                           "tests/data/demo/vif.json"]))
