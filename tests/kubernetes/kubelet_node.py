"""A cluster's node: kubelet, containerd and Open vSwitch on a host that container runtimes can live on."""
import json
import os
import shutil
from pathlib import Path

from harness import namespaces
from harness.containerd import Containerd
from harness.host import HERE
from harness.open_vswitch import KERNEL_DATAPATH, OpenVSwitch
from harness.process import run
from kubernetes import runtime

# The kubelet finds these sysctls of the machine as it wants them, and so leaves them alone.
SYSCTLS = {"vm/overcommit_memory": 1, "vm/panic_on_oom": 0, "kernel/panic": 10, "kernel/panic_on_oops": 1,
           "kernel/keys/root_maxkeys": 1000000, "kernel/keys/root_maxbytes": 25000000}
# Debian's own configuration, read before a node has an /etc of its own, and the folder that it names for plugins.
PACKAGED = Path("/etc/containerd/config.toml").read_text() if os.path.exists("/etc/containerd/config.toml") else ""
PLUGINS = "mkdir /run/plugins && cp -a /usr/lib/cni/loopback /run/plugins && mount --bind /run/plugins /usr/lib/cni"
KUBELET = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration",
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


class KubeletNode:
    def __init__(self, release, addresses, host=HERE, snapshotter="native", packaged=""):
        """containerd and Open vSwitch run when it returns. release: the kubelet's; addresses: the node's own, one for each family;
        snapshotter: containerd's; packaged: its package's configuration, where that is to be used."""
        self.release, self.addresses, self.host, self.name = release, addresses, host, host.name
        self.logs = host.work / "logs"
        self.logs.mkdir()
        # systemd makes it so.
        host.run("mount --make-rshared /")
        # containerd has it give every pod its lo.
        host.path("/opt/cni/bin/loopback").symlink_to("/usr/lib/cni/loopback")
        host.path("/etc/containerd").mkdir()
        host.path("/etc/containerd/config.toml").write_text(runtime.configuration(snapshotter, packaged))
        if packaged:
            host.run("sh", "-euc", PLUGINS)
        self.containerd = Containerd(self.logs / "containerd.log", host)
        self.cri = self.containerd.cri
        self.ovs = OpenVSwitch(datapath="system" if KERNEL_DATAPATH else "netdev", host=host)

    def start(self, name, command):
        with open(self.logs / f"{name}.log", "ab") as log:
            return self.host.start(command, stdout=log, stderr=log)

    def start_kubelet(self, api, **fields):
        """fields: of its configuration, beside KUBELET's."""
        kubeconfig = api.write_kubeconfig(self.host.work / "kubelet.kubeconfig", token_of(self.name))
        configuration = self.host.work / "kubelet.json"
        configuration.write_text(json.dumps({**KUBELET, **fields, "authentication": {
            "anonymous": {"enabled": False}, "webhook": {"enabled": False}, "x509": {"clientCAFile": api.ca}}}))
        self.kubelet_command = [
            f"{self.release.programs}/kubelet", f"--config={configuration}", f"--kubeconfig={kubeconfig}",
            *self.release.kubelet_options, "--container-runtime-endpoint=unix:///run/containerd/containerd.sock",
            f"--hostname-override={self.name}", f"--node-ip={','.join(self.addresses)}"]
        self.kubelet = self.start("kubelet", self.kubelet_command)

    def restart_kubelet(self):
        """Killed, and begun again."""
        self.kubelet.kill()
        self.kubelet.wait()
        self.kubelet = self.start("kubelet", self.kubelet_command)


def token_of(name):
    """The token of a node's kubelet at the API server."""
    return f"{name}-token-52c1d0"


def user_of(name):
    """A kubelet's line of --token-auth-file."""
    return f"{token_of(name)},system:node:{name},{name},system:nodes"


def keep_logs(host, folder):
    """Copies what a host's programs and pods said."""
    folder.mkdir(parents=True, exist_ok=True)
    for pattern in ("*.log", "*/*.log", "*/logs/*.log"):
        for log in host.work.glob(pattern):
            shutil.copy(log, folder / "-".join(log.relative_to(host.work).parts))
    for told in ("/var/log/pods", "/run/openvswitch", "/run/ovn"):
        for log in host.path(told).glob("**/*.log"):
            shutil.copy(log, folder / "-".join(log.relative_to(host.path(told)).parts))


def pin_sysctls():
    """For all hosts that are made afterwards."""
    for name, value in SYSCTLS.items():
        file = namespaces.WORK / "sysctl" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{value}\n")
        run(f"mount --bind {file} /proc/sys/{name}")
