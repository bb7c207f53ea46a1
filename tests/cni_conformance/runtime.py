"""RTM: the runtime's side of the matter."""
import json
import subprocess
from pathlib import Path

from cni_conformance.case import NotApplicable, case
from harness.expectation import expect
from harness.process import run

CONFLIST = Path(__file__).resolve().parents[2] / "etc" / "10-kuryr.conflist"


@case("RTM-05", "HARD")
def our_list(node):
    """our 10-kuryr.conflist: cniVersions are listed, and supported; capabilities are declared"""
    if not node.kuryr:
        raise NotApplicable("speaks of kuryr-cni's 10-kuryr.conflist")
    conf = json.loads(CONFLIST.read_text())
    known = {"cniVersion", "cniVersions", "name", "disableCheck", "disableGC", "plugins"}
    expect(set(conf) <= known, f"members {sorted(conf)}")
    expect(conf["cniVersion"] in node.target.supported, f"cniVersion {conf['cniVersion']}")
    listed = conf.get("cniVersions", [])
    expect(listed and set(listed) <= set(node.target.supported), f"cniVersions {listed}")
    ours = [plugin for plugin in conf["plugins"] if plugin["type"] == "kuryr-cni"]
    expect(len(ours) == 1 and all("/" not in plugin["type"] for plugin in conf["plugins"]), "types of plugins")
    expect(ours[0].get("capabilities", {}).get("mac"), f"capabilities {ours[0].get('capabilities')}")


@case("RTM-04", "REF")
def forms_of_the_path(node):
    """/var/run/netns/cni-ID, /proc/PID/ns/net and /run/netns/netns-ID all work"""
    made = node.added()
    made.delete().silent()
    podman = node.attachment(netns="netns-" + node.new_name(), make=True)
    podman.add(CNI_NETNS="/run/netns/" + podman.netns).result()
    podman.delete(CNI_NETNS="/run/netns/" + podman.netns).silent()
    podman.expect_gone()
    ctr = node.attachment()
    holder = subprocess.Popen(["nsenter", f"--net=/run/netns/{ctr.netns}", "sh", "-c", "echo ready; exec cat"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    path = f"/proc/{holder.pid}/ns/net"
    ctr.add(CNI_NETNS=path).result()
    expect(ctr.present(), "no interface in the process's namespace")
    ctr.delete(CNI_NETNS=path).silent()
    ctr.expect_gone()
    ctr.add(CNI_NETNS=path).result()
    holder.kill()
    holder.wait()
    ctr.delete(CNI_NETNS=path).silent()
    run("ip", "netns", "delete", ctr.netns)
