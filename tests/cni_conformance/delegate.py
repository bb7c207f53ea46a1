"""Fake delegates: shell scripts that log their calls and answer what a case wants."""
import json
import os
import select
import shlex

from cni_conformance.needs import need_ipam
from harness.expectation import Failed
from harness.namespaces import WORK

SCRIPT = """#!/bin/sh
folder={folder}
until mkdir "$folder/$((count = ${{count:-0}} + 1))" 2>/dev/null; do :; done
call=$folder/$count
cat >"$call/stdin"
env -0 >"$call/env"
{extra}
[ ! -e "$folder/$CNI_COMMAND.sh" ] || . "$folder/$CNI_COMMAND.sh"
"""
VERSION_ANSWER = {"cniVersion": "1.1.0",
                  "supportedVersions": ["0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"]}


def ipam_result(version, *addresses, gateway=True, **members):
    """The result of an address plugin, in the form of that version; addresses: ADDRESS/PREFIX."""
    if version in ("0.1.0", "0.2.0"):
        result = {"cniVersion": version}
        for address in addresses:
            result["ip6" if ":" in address else "ip4"] = {"ip": address}
        return {**result, **members}
    ips = []
    for address in addresses:
        entry = {"address": address}
        if gateway:
            entry["gateway"] = "fd00:99::1" if ":" in address else "10.99.0.1"
        if version.startswith("0."):
            entry["version"] = "6" if ":" in address else "4"
        ips.append(entry)
    return {"cniVersion": version, "ips": ips, **members}


class Gate:
    """Two pipes: the delegate says that it was reached, and waits for a word."""

    def __init__(self, delegate, command):
        self.said, self.word = delegate.folder / "reached", delegate.folder / "open"
        os.mkfifo(self.said)
        os.mkfifo(self.word)
        answer = (delegate.calls_folder / f"{command}.sh").read_text()
        delegate.do(command, f"echo reached >{self.said}\nread word <{self.word}\n{answer}")

    def reached(self, process):
        """Waits until the plugin's call, a process, has got to the delegate."""
        with open(os.open(self.said, os.O_RDONLY | os.O_NONBLOCK), "rb") as pipe:
            while process.poll() is None:
                if select.select([pipe], [], [], 0.5)[0] and pipe.read():
                    return
        raise Failed("the call ended before it asked its delegate")

    def open(self):
        try:
            os.write(os.open(self.word, os.O_WRONLY | os.O_NONBLOCK), b"go\n")
        except OSError:
            # The plugin ended its delegate, which no longer waits.
            pass


class Delegate:
    """A plugin of this name in a folder of its own, which goes in front of CNI_PATH. Without words it answers ADD with an
    address and everything else with success."""

    def __init__(self, node, name="fake-ipam", result=None, extra=""):
        self.node = node
        self.name = name
        self.folder = WORK / f"{name}-{node.number()}"
        self.calls_folder = self.folder / "calls"
        self.calls_folder.mkdir(parents=True)
        self.path = str(self.folder)
        self.file = self.folder / name
        self.file.write_text(SCRIPT.format(folder=shlex.quote(str(self.calls_folder)), extra=extra))
        self.file.chmod(0o755)
        number = node.number() + 10
        self.answer("VERSION", VERSION_ANSWER)
        self.answer("ADD", result or ipam_result(node.version, f"10.99.0.{number}/24"))

    def do(self, command, shell):
        (self.calls_folder / f"{command}.sh").write_text(shell)

    def answer(self, command, document, status=0):
        text = document if isinstance(document, str) else json.dumps(document)
        self.do(command, f"printf %s {shlex.quote(text)}\nexit {status}\n")

    def gate(self, command):
        """Makes this command wait; its answer comes when the gate is opened."""
        return Gate(self, command)

    def fail(self, command, code=123, msg="the delegate's own words", details="its details"):
        self.answer(command, {"cniVersion": self.node.version, "code": code, "msg": msg, "details": details}, 1)

    def folders(self):
        """The script's notes of its calls, in order."""
        return sorted((f for f in self.calls_folder.iterdir() if f.is_dir()), key=lambda f: int(f.name))

    def calls(self):
        """[(command, environment, configuration)] in order."""
        found = []
        for folder in self.folders():
            env = dict(part.split("=", 1) for part in (folder / "env").read_text().split("\0") if "=" in part)
            text = (folder / "stdin").read_text()
            found.append((env.get("CNI_COMMAND"), env, json.loads(text) if text.strip() else None))
        return found

    def commands(self):
        """Without VERSION, which a plugin may ask as it likes."""
        return [command for command, _, _ in self.calls() if command != "VERSION"]

    def conf(self, **changes):
        """The configuration with this one as its address plugin."""
        return self.node.conf(ipam={"type": self.name}, **changes)

    def cni_path(self):
        return f"{self.path}:{self.node.cni_path}"

    def attachment(self, **options):
        """An attachment whose calls go to this delegate."""
        made = self.node.attachment(conf={"ipam": {"type": self.name}}, **options)
        plain = made.environment
        made.environment = lambda command, **changes: plain(command, **{"CNI_PATH": self.cni_path(), **changes})
        return made

    def forget(self):
        for folder in self.folders():
            for file in folder.iterdir():
                os.unlink(file)
            folder.rmdir()


def add_that_waits(node):
    """(attachment, process, what lets it go on): an ADD in the midst of its work, which waits for its port to become active
    or for its delegate."""
    if node.pods:
        made = node.attachment(active=False)
        process = made.start("ADD")
        node.ovs.wait_for_port(made.pod.plan.tap)
        return made, process, lambda: node.pods.activate(made)
    need_ipam(node)
    delegate = Delegate(node)
    gate = delegate.gate("ADD")
    made = delegate.attachment()
    process = made.start("ADD")
    gate.reached(process)
    return made, process, gate.open
