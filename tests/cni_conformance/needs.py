"""What a case asks of its node before it asks the plugin, and what it does to the node behind the plugin's back."""
import shutil
from pathlib import Path

from cni_conformance.case import NotApplicable
from harness.process import run
from harness.report import Skipped
from harness.result_form import rank


class Needs:
    """Of any plugin's node: what needs more (Open vSwitch, an API server, the plugin's own state) is not applicable here,
    and profiles add it."""

    profile = ""
    one_interface_a_pod = False

    def chained(self):
        """An attachment of a plugin that is not the first of its list."""
        self.need_profile("api", "bridge", "ovs")
        return self.attachment()

    # ---- what a case needs
    @property
    def ipam(self):
        return bool(self.target.conf.get("ipam", {}).get("type"))

    def need_ipam(self, kind=None):
        if not self.ipam:
            raise NotApplicable("the configuration delegates no addresses (ipam)")
        if kind and self.target.conf["ipam"]["type"] != kind:
            raise NotApplicable(f"the configuration's ipam is not {kind}")

    def need_profile(self, *profiles):
        if self.profile not in profiles:
            raise NotApplicable("asks for " + " or ".join(f"--kuryr {p}" for p in profiles))

    def need_second_interface(self):
        if self.one_interface_a_pod:
            raise NotApplicable("a pod's plan names its interfaces, and one ADD makes them all")

    def need_no_agent(self):
        """For what an agent does not ask of others, as it knows."""

    def need_agent(self):
        raise NotApplicable("there is no agent: each call does its work by itself")

    def need_version(self, version):
        if rank(self.target.supported[-1]) < rank(version):
            raise NotApplicable(f"the plugin does not know {version}")

    def need_plugin(self, name):
        """The path of one of CNI's own plugins."""
        for folder in self.cni_path.split(":"):
            if Path(folder, name).is_file():
                return f"{folder}/{name}"
        raise Skipped(f"no {name} in CNI_PATH; Debian's containernetworking-plugins has it")

    def need_field(self, *names):
        for name in names:
            if name in self.target.conf:
                return name
        raise NotApplicable("the configuration has no " + " or ".join(names))

    # ---- the node, behind the plugin's back
    def unplug(self, attachment):
        host = attachment.host_end()
        if not host or not host.get("master"):
            raise NotApplicable("the host end is in no bridge")
        run("ip", "link", "set", host["ifname"], "nomaster")

    def add_foreign_port(self):
        run("ip", "link", "add", "foreign0", "type", "veth", "peer", "name", "foreign1")
        for name in self.switch_links():
            run("ip", "link", "set", "foreign0", "master", name)

    def foreign_port_is_there(self):
        return "foreign0" in self.links()

    def lose_state(self):
        """What plugins keep on disk, as a reboot or an eager administrator loses it."""
        for entry in Path("/var/lib/cni").iterdir():
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

        shutil.rmtree("/run/kuryr", ignore_errors=True)
