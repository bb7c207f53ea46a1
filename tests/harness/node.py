"""A node for any plugin, in namespaces of its own: the plugin's calls as a runtime makes them, and what the node has."""
import ipaddress
import itertools
import json
import os
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from harness.answer import Answer
from harness.attachment import Attachment
from harness.expectation import Failed, expect
from harness.process import run
from harness.result_form import rank

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
    """What is tested: a plugin's file, its network configuration, where its delegates are, the versions it supports."""

    plugin: str
    conf: dict
    cni_path: str = ""
    supported: tuple = ()


class Node:
    """Its process is the first of its namespaces. Calls may come from several threads."""

    needs_args = False

    def __init__(self, target):
        self.target = target
        self.version = target.supported[-1] if target.supported else "0.3.1"
        self.attachments = []
        self.numbers = itertools.count(1)
        self.cni_path = target.cni_path

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

    def at_least(self, version):
        return rank(self.version) >= rank(version)

    def new_name(self):
        return uuid.uuid4().hex
