"""A node for any plugin: its services, the plugin's calls as a runtime makes them, and what the node has."""
import ipaddress
import itertools
import json
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from harness.answer import Answer
from harness.attachment import Attachment
from harness.expectation import Failed, expect
from harness.host import HERE
from harness.linux_bridges import LinuxBridges
from harness.result_form import rank

# containerd leaves this environment to a plugin.
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
    """A plugin under test: its file, its network configuration, the folders of its delegates, the versions it supports."""

    plugin: str
    conf: dict
    cni_path: str = ""
    supported: tuple = ()


class Node:
    """Calls may come from several threads."""

    # A node asks the services of these names for its calls, and takes others as they are.
    ovs = pods = kuryr = None

    def __init__(self, target, host=HERE, **services):
        """services: give()'s."""
        self.target, self.host, self.services = target, host, {}
        self.give(**services)
        self.version = target.supported[-1] if target.supported else "0.3.1"
        self.attachments = []
        self.numbers = itertools.count(1)
        self.cni_path = target.cni_path

    def give(self, **services):
        """services: in the order of their starts; each is an attribute by its name. A service may have remains(), which
        attachments may leave in it, and stop(), which ends it."""
        self.services |= services
        vars(self).update(services)

    @property
    def switch(self):
        """It has the host ends of attachments."""
        return self.ovs or LinuxBridges(self.host)

    # ---- calls
    def conf(self, **changes):
        """The network configuration at this version; a change to None leaves the member out."""
        own = {"kuryr_conf": self.kuryr.usual_conf} if self.kuryr else {}
        conf = {**self.target.conf, "cniVersion": self.version, **own, **changes}
        return {key: value for key, value in conf.items() if value is not None}

    def environment(self, command, **changes):
        env = {**RUNTIME_ENVIRONMENT, "CNI_COMMAND": command, "CNI_PATH": self.cni_path, **changes}
        return {key: value for key, value in env.items() if value is not None}

    def start_call(self, stdin, env, plugin=None):
        """The plugin, running; stdin is bytes or a configuration."""
        text = stdin if isinstance(stdin, bytes) else json.dumps(stdin).encode()
        process = self.host.start(
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
        """A call that concerns no attachment: VERSION, STATUS, GC."""
        return self.call(self.conf() if conf is None else conf, self.environment(command, **env))

    def status(self, conf=None, **env):
        return self.command("STATUS", conf, **env)

    def gc(self, valid=(), conf=None, **env):
        """valid: attachments that stay."""
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

    def describe(self, attachment, **plan):
        """Makes the attachment's plan, where the plugin does not find it in the configuration."""
        if self.pods:
            self.pods.describe(attachment, **plan)

    def number(self):
        return next(self.numbers)

    def clean(self):
        """Removes all containers."""
        for made in self.attachments:
            made.delete_quietly()
        folder = self.host.path("/run/netns")
        for file in folder.iterdir() if folder.is_dir() else ():
            self.host.run("ip", "netns", "delete", file.name, check=False)
        self.attachments = []

    def end_namespace(self, attachment):
        """Deletes the namespace, and waits until the kernel has ended its links."""
        host = attachment.host_end() if attachment.present() else None
        self.host.run("ip", "netns", "delete", attachment.netns)
        deadline = time.monotonic() + 30
        while host and host["ifname"] in self.links() and time.monotonic() < deadline:
            time.sleep(0.01)

    # ---- what the node has
    def links(self):
        """The host's links by name, as ip tells."""
        return {link["ifname"]: link for link in json.loads(self.host.run("ip", "-j", "-d", "link", "show"))}

    def remains(self):
        """Things that attachments may leave on the node: links other than bridges, addresses of host-local, and each service's."""
        found = set().union(*(service.remains() for service in self.services.values() if hasattr(service, "remains")))
        found |= {f"link {name}" for name, link in self.links().items()
                  if link.get("linkinfo", {}).get("info_kind") not in ("bridge", "openvswitch")}
        return found | {f"reserved address {address}" for address in self.reservations()}

    def expect_only(self, before, what="after DEL", but=()):
        """Fails where remains() has more than before. but: beginnings of names that may be left."""
        left = {each for each in self.remains() - before if not each.startswith(tuple(but))}
        expect(not left, f"left {what}: {', '.join(sorted(left))}")

    def reservations(self):
        """host-local's, address: container."""
        ipam = self.target.conf.get("ipam", {})
        folder = self.host.path(Path(ipam.get("dataDir", "/var/lib/cni/networks"), self.target.conf["name"]))
        found = {}
        for file in folder.iterdir() if folder.is_dir() else ():
            try:
                address = ipaddress.ip_address(file.name)
            except ValueError:
                continue
            found[str(address)] = file.read_text().split()[0]
        return found

    def at_least(self, version):
        return rank(self.version) >= rank(version)

    def new_name(self):
        return uuid.uuid4().hex

    def stop(self):
        """Ends the services, the last one first, and then the host."""
        for service in reversed(self.services.values()):
            if hasattr(service, "stop"):
                service.stop()
        self.host.stop()
