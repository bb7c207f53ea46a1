"""The real kube-controller-manager: namespaces end, owners' objects go with them, ClusterRole edit has its rules."""
import subprocess

from harness.kube_api import find_programs
from harness.namespaces import WORK
from harness.report import Skipped

# Those that change what kuryr-controller reads; none that takes nodes without a kubelet for dead.
PARTS = ("namespace", "garbagecollector", "clusterrole-aggregation")
# By default it sends 20 requests a second: the end of a namespace takes more than 60.
SPEED = ("--kube-api-qps=1000", "--kube-api-burst=2000")


def programs_with_manager():
    """The folder of kube-apiserver, etcd and kube-controller-manager."""
    programs, why_not = find_programs("--node")
    if not programs:
        raise Skipped(why_not)
    return programs


class Manager:
    def __init__(self, programs, api):
        kubeconfig = api.write_kubeconfig(WORK / "manager.kubeconfig")
        with open(WORK / "kube-controller-manager.log", "ab") as log:
            self.process = subprocess.Popen([
                f"{programs}/kube-controller-manager", f"--kubeconfig={kubeconfig}", "--leader-elect=false",
                f"--controllers={','.join(PARTS)}", f"--cert-dir={WORK}/manager", *SPEED], stdout=log, stderr=log)
