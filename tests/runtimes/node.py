"""kuryr-cni as runtimes find it on a node: behind a recorder of its calls, with an API server where one is started."""
import json
from pathlib import Path

from harness.kube_api import TOKEN, FakeApiServer, make_certificates
from harness.kuryr import ATTACHMENTS
from harness.namespaces import WORK
from harness.open_vswitch import KERNEL_DATAPATH, OpenVSwitch
from harness.process import run

PLUGIN = Path("/opt/cni/bin/kuryr-cni")
CONF = Path("/etc/kuryr/kuryr.conf")
CALLS = WORK / "calls"
RESERVATIONS = Path("/var/lib/cni/networks")


def install():
    """Installs WORK/kuryr-cni, behind the recorder."""
    PLUGIN.write_text("#!/bin/sh\n"
                      f'echo "$CNI_COMMAND $CNI_CONTAINERID netns=$CNI_NETNS" >>{CALLS}\n'
                      f"exec {WORK}/kuryr-cni\n")
    PLUGIN.chmod(0o755)


def calls(command=""):
    """Calls of kuryr-cni by runtimes so far: (command, container id, namespace or "")."""
    lines = CALLS.read_text().splitlines() if CALLS.exists() else []
    found = [tuple(line.replace(" netns=", " ").split(" ")) for line in lines]
    return [call for call in found if call[0] == command or not command]


def start_open_vswitch():
    return OpenVSwitch(datapath="system" if KERNEL_DATAPATH else "netdev")


def start_api_server():
    """Starts WORK/fake-apiserver for API mode; kuryr.conf names it."""
    make_certificates(WORK / "tls")
    (WORK / "token").write_text(TOKEN)
    api = FakeApiServer(WORK / "tls", WORK / "api.log", WORK / "fake-apiserver")
    CONF.parent.mkdir(exist_ok=True)
    CONF.write_text(f"[kubernetes]\napi_root = {api.url}\nssl_ca_crt_file = {api.ca}\ntoken_file = {WORK}/token\n")
    return api


def check_clean():
    """Pods leave nothing on a node when DELs do their job."""
    found = [f"link {link['ifname']}" for link in json.loads(run("ip -json -details link"))
             if link.get("linkinfo", {}).get("info_kind") in ("veth", "ifb")]
    if Path("/run/openvswitch/db.sock").exists():
        found += [f"port {port}" for port in run("ovs-vsctl list-ports br-int").split()]
    found += [f"record {record.name}" for record in (ATTACHMENTS.iterdir() if ATTACHMENTS.exists() else ())]
    for network in RESERVATIONS.iterdir() if RESERVATIONS.exists() else ():
        found += [f"address {entry.name}" for entry in network.iterdir() if entry.name[0].isdigit()]
    found += [line for line in run("tc qdisc show").splitlines() if " tbf " in line or " ingress " in line]
    assert not found, f"{len(found)} left, such as {', '.join(found[:4])}"
