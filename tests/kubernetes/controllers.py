"""kuryr-controller's pods on the cluster's node."""
import os
import urllib.request
from pathlib import Path

from harness.process import run

APP = "kuryr-controller"
COMMAND = ["/usr/local/bin/kuryr-controller"]
SYSTEM_PODS = "/api/v1/namespaces/kube-system/pods"
DEPLOYMENTS = "/apis/apps/v1/namespaces/kube-system/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


class Controllers:
    def __init__(self, api):
        self.api = api

    def pods(self):
        """{name: pod}, of those that are not to go."""
        return {pod["metadata"]["name"]: pod for pod in of_app(self.api.get(SYSTEM_PODS)["items"], APP)
                if "deletionTimestamp" not in pod["metadata"]}

    def processes(self):
        """{pod's name: process id}"""
        pids = [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if command_of(pid) == COMMAND]
        mounts = {pid: Path(f"/proc/{pid}/mountinfo").read_text() for pid in pids}
        return {name: pid for name, pod in self.pods().items() for pid in pids if pod["metadata"]["uid"] in mounts[pid]}

    def holder(self):
        """The Lease's."""
        return holder_of(self.api.get(f"{LEASES}/{APP}"))

    def leader(self):
        """The pod's name."""
        wanted = f"identity={self.holder()}"
        (name,) = [folder.name.split("_")[1] for folder in Path("/var/log/pods").glob(f"kube-system_{APP}-*")
                   if wanted in run("cat", *folder.glob("*/*.log"))]
        return name

    def log(self):
        return "".join(log.read_text() for log in Path("/var/log/pods").glob(f"kube-system_{APP}-*/*/*.log"))

    def wait_until_available(self, count):
        # The pods' states tell more of a failure.
        self.api.wait(f"{count} are ready", lambda pods: count == len([
            pod for pod in of_app(pods.values(), APP) if is_true(pod, "Ready") and "deletionTimestamp" not in pod["metadata"]]),
            SYSTEM_PODS)
        self.api.wait(f"{count} are available", lambda found: is_rolled_out(found["kube-system", APP], count), DEPLOYMENTS)

    def wait_for_other_leader(self, before):
        """Than that holder."""
        self.api.wait("another leads", lambda leases: holder_of(leases.get(("kube-system", APP))) not in (None, "", before),
                      LEASES)

    def scale(self, count):
        self.api.patch(f"{DEPLOYMENTS}/{APP}", {"spec": {"replicas": count}})
        if count:
            self.wait_until_available(count)
        else:
            self.api.wait("none is left", lambda pods: not of_app(pods.values(), APP), SYSTEM_PODS)


def ask(path):
    """One that has the node's port answers."""
    with urllib.request.urlopen(f"http://127.0.0.1:8082{path}", timeout=10) as answer:
        return answer.read().decode()


def of_app(pods, app):
    return [pod for pod in pods if pod["metadata"].get("labels", {}).get("app") == app]


def command_of(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    except OSError:
        return []


def is_true(item, condition):
    # They are null in a definition that is new.
    return any(each["type"] == condition and each["status"] == "True" for each in item["status"].get("conditions") or ())


def is_rolled_out(deployment, count):
    status = deployment["status"]
    return (status.get("observedGeneration") == deployment["metadata"]["generation"]
            and status.get("availableReplicas", 0) == status.get("updatedReplicas", 0) == status.get("replicas", 0) == count)


def holder_of(lease):
    return lease and lease["spec"].get("holderIdentity")
