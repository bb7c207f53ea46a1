"""The commands of docs/install.md for kuryr-cni alone, and of docs/runtimes.md for a kubelet with exec plugins, on a node of their own."""
import json
from pathlib import Path

from harness.process import run
from harness.transcript import Transcript
from runtimes.node import PLUGIN

EXEC_PLUGIN = Path("/usr/libexec/kubernetes/kubelet-plugins/net/exec/openstack.org~kuryr/kuryr")
FILES = {PLUGIN: 0o755, Path("/etc/kuryr/kuryr.conf"): 0o600, Path("/etc/cni/net.d/10-kuryr.conflist"): 0o644}


def check(facts):
    with facts.fact("docs/install.md: kuryr-cni alone is installed with its configuration, over one that is there, and answers"):
        page = Transcript("kuryr-cni alone", "docs/install.md")
        page.next_block(facts)
        page.finish()
        assert {file: file.stat().st_mode & 0o777 for file in FILES} == FILES, "other modes"
        assert sorted(PLUGIN.parent.glob(".kuryr*")) == [], "something is left"
        answer = json.loads(run(str(PLUGIN), input='{"cniVersion": "1.0.0"}', env={"CNI_COMMAND": "VERSION"}))
        assert "1.0.0" in answer["supportedVersions"], answer
    with facts.fact("docs/runtimes.md: the kubelet's exec plugin is installed, and answers init"):
        run("mount", "-t", "tmpfs", "tmpfs", "/usr/libexec")
        page = Transcript("A kubelet with exec plugins")
        page.next_block(facts)
        page.finish()
        run(str(EXEC_PLUGIN), "init")
