"""A cluster's kube-apiserver, and its watches."""
import json
import time
import urllib.parse
from ipaddress import ip_network

from harness.host import HERE
from harness.kube_api import TOKEN, KubeApiServer
from kubernetes import audit

EVENT_SECONDS = 60
# Objects of which a failure tells the state.
MOST_TOLD = 3


class ClusterApiServer(KubeApiServer):
    """It makes tokens that are bound to their pods, and admits what the kubelets of nodes may do, no more."""

    def __init__(self, release, folder, network, users, host=HERE):
        """network: where it listens and which addresses Services get; users: lines of --token-auth-file, beside the
        administrator's."""
        self.url = network.api
        self.users = f"{TOKEN},admin,1,system:masters\n" + "".join(f"{line}\n" for line in users)
        self.options = [
            "--etcd-servers=unix://localhost:1", *network.api_options(release),
            "--tls-cert-file=tls/service.crt", "--tls-private-key-file=tls/server.key", "--token-auth-file=tls/tokens.csv",
            "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
            # For kubectl exec.
            "--kubelet-client-certificate=tls/client.crt", "--kubelet-client-key=tls/client.key",
            "--kubelet-preferred-address-types=InternalIP",
            "--audit-policy-file=tls/audit.json", "--audit-log-path=audit.log",
            "--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=tls/server.key",
            "--service-account-key-file=tls/server.crt"]
        super().__init__(release.programs, folder, host, [network.node, *(str(ip_network(each)[1]) for each in network.services)])

    def start(self):
        (self.folder / "tls/audit.json").write_text(json.dumps(audit.POLICY))
        super().start()

    @property
    def audit_log(self):
        return self.folder / "audit.log"

    def watch(self, path, seconds=EVENT_SECONDS):
        """Yields the objects that are there, {(namespace, name): object}, now and after each change, for a time."""
        deadline = time.monotonic() + seconds
        listed = self.get(path)
        found = {_key(item): item for item in listed["items"]}
        yield found
        query = urllib.parse.urlencode({
            "watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"],
            "timeoutSeconds": max(1, int(deadline - time.monotonic()))})
        with self.open("GET", f"{path}?{query}", timeout=max(seconds, EVENT_SECONDS)) as events:
            for line in events:
                event = json.loads(line)
                if event["type"] == "DELETED":
                    found.pop(_key(event["object"]), None)
                else:
                    found[_key(event["object"])] = event["object"]
                yield found

    def wait(self, what, holds, path, seconds=EVENT_SECONDS):
        """Until holds(objects)."""
        for found in self.watch(path, seconds):
            if holds(found):
                return
        raise AssertionError(f"not in {seconds} s: {what}; {_state(found)}")


def _key(item):
    return item["metadata"].get("namespace", ""), item["metadata"]["name"]


def _state(found):
    return "; ".join(f"{name}: {_summary(item)}" for (_, name), item in sorted(found.items())[:MOST_TOLD])


def _summary(item):
    status = item.get("status", {})
    waiting = [each["state"].get("waiting", {}) for kind in ("initContainerStatuses", "containerStatuses")
               for each in status.get(kind, ())]
    messages = [each["message"] for each in (*waiting, *status.get("conditions", ())) if "message" in each]
    return ", ".join([status.get("phase", ""), *messages])[:400] or json.dumps(status)[:400]
