"""A cluster of one node: kube-apiserver, controllers, scheduler, kubelet and containerd, on a node of its own."""
import json
import subprocess
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from harness import namespaces
from harness.containerd import Containerd
from harness.kube_api import TOKEN, KubeApiServer
from harness.open_vswitch import KERNEL_DATAPATH, OpenVSwitch
from harness.process import run
from kubernetes import audit

NODE, NODE_IP, SERVICE_IP = "node1", "192.0.2.1", "10.96.0.1"
NODE_TOKEN = "node-token-52c1d0"
WORK = namespaces.WORK / "kubernetes"
LOGS = namespaces.WORK / "logs"
EVENT_SECONDS = 60
# Objects of which a failure tells the state.
MOST_TOLD = 3
CONTROLLERS = ("daemonset", "deployment", "replicaset", "disruption", "serviceaccount", "serviceaccount-token",
               "root-ca-cert-publisher", "nodelifecycle", "garbagecollector")
# The kubelet finds these sysctls of the machine as it wants them, and so leaves them alone.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
# containerd's configuration on small machines, as in docs/runtimes.md.
CONTAINERD = """version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/busybox:1"
  disable_cgroup = true
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "native"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/opt/cni/bin"
    conf_dir = "/etc/cni/net.d"
"""
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
    "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": False},
                       "x509": {"clientCAFile": str(WORK / "tls/ca.crt")}},
    "authorization": {"mode": "AlwaysAllow"},
    "cgroupDriver": "cgroupfs", "cgroupsPerQOS": False, "enforceNodeAllocatable": [],
    "failSwapOn": False, "makeIPTablesUtilChains": False, "oomScoreAdj": 0, "protectKernelDefaults": True,
    "readOnlyPort": 0, "healthzPort": 0, "nodeStatusUpdateFrequency": "1s",
    # The kubelet looks so often for changes that it did not hear of, above all for pods to delete.
    "syncFrequency": "2s",
    # Kubernetes 1.27's defaults; 5 and 10, the older ones, delay a pod's status by many seconds.
    "kubeAPIQPS": 50, "kubeAPIBurst": 100, "eventRecordQPS": 50, "eventBurst": 100,
    # However full the machine is.
    "evictionHard": {"memory.available": "1Mi"}, "imageGCHighThresholdPercent": 100,
}


class ClusterApiServer(KubeApiServer):
    """Also at the service's address, as where kube-proxy runs; with tokens that are bound to their pods."""

    url = f"https://{SERVICE_IP}"
    options = [
        "--etcd-servers=unix://localhost:1", "--bind-address=0.0.0.0", "--secure-port=443",
        f"--advertise-address={NODE_IP}", "--endpoint-reconciler-type=none",
        "--tls-cert-file=tls/service.crt", "--tls-private-key-file=tls/server.key", "--token-auth-file=tls/tokens.csv",
        "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction", "--allow-privileged",
        # For kubectl exec.
        "--kubelet-client-certificate=tls/client.crt", "--kubelet-client-key=tls/client.key",
        "--kubelet-preferred-address-types=InternalIP",
        "--audit-policy-file=tls/audit.json", "--audit-log-path=audit.log",
        "--feature-gates=BoundServiceAccountTokenVolume=true",
        "--service-account-issuer=https://kubernetes.default.svc", "--service-account-signing-key-file=tls/server.key",
        "--service-account-key-file=tls/server.crt", "--service-cluster-ip-range=10.96.0.0/16"]
    users = f"{TOKEN},admin,1,system:masters\n{NODE_TOKEN},system:node:{NODE},2,system:nodes\n"

    def start(self):
        (self.folder / "tls/audit.json").write_text(json.dumps(audit.POLICY))
        super().start()

    @property
    def audit_log(self):
        return self.folder / "audit.log"

    def watch(self, path):
        """Yields the objects that are there, {(namespace, name): object}, now and after each change, for a time."""
        deadline = time.monotonic() + EVENT_SECONDS
        listed = self.get(path)
        found = {_key(item): item for item in listed["items"]}
        yield found
        query = urllib.parse.urlencode({
            "watch": "true", "resourceVersion": listed["metadata"]["resourceVersion"],
            "timeoutSeconds": max(1, int(deadline - time.monotonic()))})
        with self.open("GET", f"{path}?{query}") as events:
            for line in events:
                event = json.loads(line)
                if event["type"] == "DELETED":
                    found.pop(_key(event["object"]), None)
                else:
                    found[_key(event["object"])] = event["object"]
                yield found

    def wait(self, what, holds, path):
        """Until holds(objects)."""
        for found in self.watch(path):
            if holds(found):
                return
        raise AssertionError(f"not in {EVENT_SECONDS} s: {what}; {_state(found)}")


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


class Cluster:
    """On a node of harness.runtime_node."""

    def __init__(self, programs):
        self.programs = programs
        LOGS.mkdir()
        for address in (NODE_IP, SERVICE_IP):
            run(f"ip address add {address}/32 dev lo")
        # systemd makes it so.
        run("mount --make-rshared /")
        # containerd has it give every pod its lo.
        Path("/opt/cni/bin/loopback").symlink_to("/usr/lib/cni/loopback")
        self.starting = ThreadPoolExecutor(1).submit(ClusterApiServer, programs, WORK)
        self.start_containerd()
        self.ovs = OpenVSwitch(datapath="system" if KERNEL_DATAPATH else "netdev")

    def start(self, name, command):
        with open(LOGS / f"{name}.log", "ab") as log:
            return subprocess.Popen(command, stdout=log, stderr=log)

    def start_containerd(self):
        configuration = Path("/etc/containerd/config.toml")
        configuration.parent.mkdir()
        configuration.write_text(CONTAINERD)
        self.containerd = Containerd(LOGS / "containerd.log")
        self.cri = self.containerd.cri

    def start_kubernetes(self):
        """The node is registered when it returns."""
        self.api = self.starting.result()
        admin = self.api.write_kubeconfig(WORK / "admin.kubeconfig")
        # kubectl's.
        Path.home().joinpath(".kube").mkdir()
        Path.home().joinpath(".kube/config").symlink_to(admin)
        self.start("kube-controller-manager", [
            f"{self.programs}/kube-controller-manager", f"--kubeconfig={admin}", "--leader-elect=false",
            f"--controllers={','.join(CONTROLLERS)}", f"--service-account-private-key-file={WORK}/tls/server.key",
            f"--root-ca-file={WORK}/tls/ca.crt", f"--cert-dir={WORK}/controllers"])
        self.start("kube-scheduler", [f"{self.programs}/kube-scheduler", f"--kubeconfig={admin}", "--leader-elect=false",
                                      f"--cert-dir={WORK}/scheduler"])
        pin_sysctls()
        self.kubeconfig = self.api.write_kubeconfig(WORK / "node.kubeconfig", NODE_TOKEN)
        (WORK / "kubelet.json").write_text(json.dumps(KUBELET))
        self.start_kubelet()
        self.api.wait("the node is registered", bool, "/api/v1/nodes")

    def start_kubelet(self):
        self.kubelet = self.start("kubelet", [
            f"{self.programs}/kubelet", f"--config={WORK}/kubelet.json", f"--kubeconfig={self.kubeconfig}",
            "--container-runtime=remote", "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
            f"--hostname-override={NODE}", f"--node-ip={NODE_IP}"])

    def restart_kubelet(self):
        """Killed, and begun again."""
        self.kubelet.kill()
        self.kubelet.wait()
        self.start_kubelet()


def pin_sysctls():
    for name, value in SYSCTLS.items():
        file = namespaces.WORK / "sysctl" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
        run(f"mount --bind {file} /proc/sys/{name}")
