"""A node: the plugin with its configuration, in namespaces of its own, and the containers a case attaches to it."""
import ipaddress
import itertools
import json
import os
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from .answer import Answer
from .attachment import Attachment
from .case import Failed, NotApplicable, expect, rank
from .namespaces import run

WORK = Path("/run/conformance")
# As containerd leaves it to a plugin.
RUNTIME_ENVIRONMENT = {
    "HOME": "/root",
    "LANG": "C.UTF-8",
    "LD_LIBRARY_PATH": "/opt/containerd/opt/lib:",
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "PWD": "/",
}
CALL_SECONDS = 90


@dataclass(frozen=True)
class Target:
    """What is tested: a plugin's file, its network configuration, where its delegates are."""

    plugin: str
    conf: dict
    cni_path: str
    supported: tuple = ()


class Node:
    """What a case gets. A node for any plugin: what needs more (Open vSwitch, an API server, the plugin's own state) is
    not applicable here, and profiles add it."""

    profile = ""
    needs_args = False
    one_interface_a_pod = False

    def __init__(self, target):
        self.target = target
        self.version = target.supported[-1] if target.supported else "0.3.1"
        self.attachments = []
        self.numbers = itertools.count(1)
        self.cni_path = target.cni_path
        WORK.mkdir(exist_ok=True)

    # ---- calls
    def conf(self, **changes):
        """The network configuration at this version; a change to None leaves the member out."""
        conf = {**self.target.conf, "cniVersion": self.version, **changes}
        return {key: value for key, value in conf.items() if value is not None}

    def environment(self, command, **changes):
        env = {**RUNTIME_ENVIRONMENT, "CNI_COMMAND": command, "CNI_PATH": self.cni_path, **changes}
        return {key: value for key, value in env.items() if value is not None}

    def start_call(self, stdin, env, plugin=None):
        """The plugin, running; stdin is bytes or a configuration."""
        text = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        process = subprocess.Popen(
            [plugin or self.target.plugin],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, cwd="/")
        try:
            process.stdin.write(text)
            process.stdin.close()
        except BrokenPipeError:
            pass
        process.stdin = None
        return process

    def finish_call(self, process, command, seconds=CALL_SECONDS):
        try:
            stdout, stderr = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise Failed(f"{command} has not answered after {seconds} s") from None
        return Answer(command, process.returncode, stdout, stderr)

    def call(self, stdin, env, plugin=None, seconds=CALL_SECONDS):
        return self.finish_call(self.start_call(stdin, env, plugin), env.get("CNI_COMMAND", "no command"), seconds)

    def command(self, command, conf=None, **env):
        """VERSION, STATUS, GC: what concerns no attachment."""
        return self.call(self.conf() if conf is None else conf, self.environment(command, **env))

    def status(self, conf=None, **env):
        return self.command("STATUS", conf, **env)

    def gc(self, valid=(), conf=None, **env):
        """valid: the attachments that are to stay."""
        pairs = [{"containerID": a.container_id, "ifname": a.ifname} for a in valid]
        return self.command("GC", {**(conf or self.conf()), "cni.dev/valid-attachments": pairs,
                                   "cni.dev/attachments": pairs}, **env)

    # ---- containers
    def attachment(self, **options):
        made = Attachment(self, **options)
        self.attachments.append(made)
        return made

    def added(self, **options):
        made = self.attachment(**options)
        made.add().result()
        return made

    def chained(self):
        """An attachment of a plugin that is not the first of its list."""
        self.need_profile("api", "bridge", "ovs")
        return self.attachment()

    def describe_pod(self, attachment, **plan):
        """Where the plugin finds its plan elsewhere than in the configuration: makes it."""

    def number(self):
        return next(self.numbers)

    def clean(self):
        """Between two versions of one case."""
        for made in self.attachments:
            made.delete_quietly()
        for name in os.listdir("/run/netns") if os.path.isdir("/run/netns") else ():
            run("ip", "netns", "delete", name, check=False)
        self.attachments = []

    def end_namespace(self, attachment):
        """Deletes it, and waits for the kernel, which ends namespaces and their links when it finds time."""
        host = attachment.host_end() if attachment.present() else None
        run("ip", "netns", "delete", attachment.netns)
        deadline = time.monotonic() + 30
        while host and host["ifname"] in self.links() and time.monotonic() < deadline:
            time.sleep(0.01)

    # ---- what the node has
    def links(self):
        """The host's links by name, as ip tells."""
        return {link["ifname"]: link for link in json.loads(run("ip", "-j", "-d", "link", "show"))}

    def remains(self):
        """What an attachment may leave on the node: links other than bridges, addresses of the pool, records."""
        found = {f"link {name}" for name, link in self.links().items()
                 if link.get("linkinfo", {}).get("info_kind") not in ("bridge", "openvswitch")}
        return found | {f"reserved address {address}" for address in self.reservations()}

    def expect_only(self, before, what="after DEL", but=()):
        """but: beginnings of what may be left."""
        left = {each for each in self.remains() - before if not each.startswith(tuple(but))}
        expect(not left, f"left {what}: {', '.join(sorted(left))}")

    def reservations(self):
        """host-local's, address: container."""
        ipam = self.target.conf.get("ipam", {})
        folder = Path(ipam.get("dataDir", "/var/lib/cni/networks"), self.target.conf["name"])
        found = {}
        for file in folder.iterdir() if folder.is_dir() else ():
            try:
                address = ipaddress.ip_address(file.name)
            except ValueError:
                continue
            found[str(address)] = file.read_text().split()[0]
        return found

    # ---- the switch that host ends are in
    def switch_links(self):
        """Links that are the switch's own, not an attachment's."""
        return {name for name, link in self.links().items()
                if link.get("linkinfo", {}).get("info_kind") in ("bridge", "openvswitch")}

    def switch_picture(self):
        """What CHECK and STATUS must not change of it."""
        return sorted(f"{name} in {link.get('master')}" for name, link in self.links().items())

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

    def need_field(self, *names):
        for name in names:
            if name in self.target.conf:
                return name
        raise NotApplicable("the configuration has no " + " or ".join(names))

    def at_least(self, version):
        return rank(self.version) >= rank(version)

    def new_name(self):
        return uuid.uuid4().hex
