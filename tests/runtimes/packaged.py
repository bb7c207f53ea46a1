"""containerd with its Debian package's own configuration, on a node that `kuryr-cni install` has set up."""
import json
from pathlib import Path

from harness.namespaces import WORK
from harness.pod import Pod
from harness.process import run
from harness.runtime_node import CGROUPS, PACKET_FILTER
from kubernetes import runtime
from kubernetes.kubelet_node import PACKAGED
from runtimes import containerd

NEEDS = CGROUPS + PACKET_FILTER
FOLDER = Path("/usr/lib/cni")
PLUGINS = "mkdir /run/plugins && cd /usr/lib/cni && cp loopback host-local portmap /run/plugins && mount --bind /run/plugins ."
LIST = Path("/etc/cni/net.d/list.conflist")


def check(facts):
    run("sh", "-euc", PLUGINS)
    Path("/etc/containerd").mkdir()
    Path("/etc/containerd/config.toml").write_text(runtime.configuration("native", PACKAGED))
    install = [WORK / "kuryr-cni", "--config-file", "etc/kuryr.conf", "install", "--host", "/", "--conflist", WORK / LIST.name]
    offered = json.loads(Path("etc/10-kuryr-local.conflist").read_text())
    (WORK / LIST.name).write_text(json.dumps({**offered, "cniVersions": ["1.0.0", "1.1.0"]}))
    with facts.fact("kuryr-cni install puts the program into the folder that containerd reads", basis=True):
        said = run(*install)
        assert f"installed {FOLDER}/kuryr-cni\n" in said, said
        assert (FOLDER / "kuryr-cni").read_bytes() == (WORK / "kuryr-cni").read_bytes()
    with facts.fact("with portmap in the list, which does not know CNI 1.1.0, that version is not offered"):
        installed = json.loads(LIST.read_text())
        assert [plugin["type"] for plugin in installed["plugins"]] == ["kuryr-cni", "portmap"], installed
        assert installed["cniVersions"] == ["1.0.0"], installed
    with facts.fact("kuryr-cni doctor finds program and versions well"):
        found = json.loads(run(WORK / "kuryr-cni", "doctor", "--json", check=False))["checks"]
        told = {each["check"]: (each["status"], each["message"]) for each in found}
        assert told["program"] == ("ok", f"{FOLDER}/kuryr-cni can be executed"), told
        assert told["versions of CNI"][0] == "ok", told
    with containerd.start() as cri:
        with facts.fact("a sandbox has an address"):
            sandbox = cri.run_pod_sandbox(Pod("web", "uid-1"))
            assert cri.addresses(sandbox), "none"
        cri.stop_pod_sandbox(sandbox)
        cri.remove_pod_sandbox(sandbox)
    with facts.fact("nothing is left"):
        assert not list(Path("/run/kuryr/attachments").iterdir())
