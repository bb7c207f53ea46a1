"""A quota that lets nobody make KuryrPorts in a namespace."""
import time
import urllib.error

from harness.expectation import END_SECONDS, POLL_SECONDS, Failed
from harness.kube_api import MERGE_PATCH

COUNT = {"count/kuryrports.openstack.org": "0"}


def forbid_ports(cluster, namespace):
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    cluster.insist("POST", path, {"metadata": {"name": "none"}, "spec": {"hard": COUNT}})
    # As the manager's part for quotas would.
    cluster.insist("PATCH", f"{path}/none/status", {"status": {"hard": COUNT, "used": COUNT}}, kind=MERGE_PATCH)
    port = {"apiVersion": "openstack.org/v1", "kind": "KuryrPort", "metadata": {"name": "probe"},
            "spec": {"podUid": "probe", "podNodeName": "node1"}}
    deadline = time.monotonic() + END_SECONDS
    while time.monotonic() < deadline:  # until the API server has heard of the quota
        try:
            cluster.insist("POST", f"/apis/openstack.org/v1/namespaces/{namespace}/kuryrports?dryRun=All", port)
        except urllib.error.HTTPError as refused:
            if refused.code == 403:
                return
            raise
        time.sleep(POLL_SECONDS)
    raise Failed("the quota forbids nothing")


def allow_ports(cluster, namespace):
    cluster.insist("DELETE", f"/api/v1/namespaces/{namespace}/resourcequotas/none")
