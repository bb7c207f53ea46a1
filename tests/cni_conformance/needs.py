"""Needs of cases, and changes that a case makes to its node behind the plugin's back. A case is not applicable to a plugin whose
node lacks what the case needs."""
import shutil
from pathlib import Path

from cni_conformance.case import NotApplicable
from harness.process import run
from harness.report import Skipped
from harness.result_form import rank

FOREIGN_PORT = "foreign0"
# Reasons why a case is not applicable, by the service that the node lacks.
MISSING = {"kuryr": "asks for --kuryr api or --kuryr bridge or --kuryr ovs", "ovs": "asks for --kuryr api or --kuryr ovs",
           "pods": "asks for --kuryr api", "agents": "there is no agent: each call does its work by itself"}


# ---- what a case needs
def has_ipam(node):
    return bool(node.target.conf.get("ipam", {}).get("type"))


def need_ipam(node, kind=None):
    if not has_ipam(node):
        raise NotApplicable("the configuration delegates no addresses (ipam)")
    if kind and node.target.conf["ipam"]["type"] != kind:
        raise NotApplicable(f"the configuration's ipam is not {kind}")


def need(node, service):
    """A service of the node."""
    if service not in node.services:
        raise NotApplicable(MISSING[service])


def need_no_plans(node):
    """A planned VIF has addresses."""
    if node.pods:
        raise NotApplicable("every VIF has addresses")


def need_second_interface(node):
    if node.pods:
        raise NotApplicable("a pod's plan names its interfaces, and one ADD makes them all")


def need_no_agents(node):
    if "agents" in node.services:
        raise NotApplicable("the agent answers from what it knows")


def need_version(node, version):
    if rank(node.target.supported[-1]) < rank(version):
        raise NotApplicable(f"the plugin does not know {version}")


def need_plugin(node, name):
    """The path of one of CNI's own plugins."""
    for folder in node.cni_path.split(":"):
        if Path(folder, name).is_file():
            return f"{folder}/{name}"
    raise Skipped(f"no {name} in CNI_PATH; Debian's containernetworking-plugins has it")


def need_field(node, *names):
    for name in names:
        if name in node.target.conf:
            return name
    raise NotApplicable("the configuration has no " + " or ".join(names))


def chained(node):
    """An attachment of a plugin that is not the first of its list."""
    need(node, "kuryr")
    return node.attachment()


# ---- the node, behind the plugin's back
def unplug(attachment):
    """Takes its host end out of the switch."""
    node, host = attachment.node, attachment.host_end()
    if not node.ovs and not (host and host.get("master")):
        raise NotApplicable("the host end is in no bridge")
    node.switch.unplug(host)


def add_foreign_port(node):
    """A port in the switch that no plugin made."""
    run(f"ip link add {FOREIGN_PORT} type veth peer name foreign1")
    node.switch.plug(FOREIGN_PORT)


def lose_state():
    """Removes what plugins keep on disk, as a reboot or an eager administrator does."""
    for entry in Path("/var/lib/cni").iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    shutil.rmtree("/run/kuryr", ignore_errors=True)
