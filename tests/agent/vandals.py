"""Ways to break the network of running pods. Each breaks something, and waits until it is as planned again."""
import contextlib
import json
import os
import time
from pathlib import Path
from subprocess import CalledProcessError

from harness.expectation import Failed
from harness.open_vswitch import make_database
from harness.pod import ANNOTATION, Plan

PATIENCE_SECONDS = 60
POLL_SECONDS = 0.01
LONGEST_OUTAGE_SECONDS = 1.5
IFF_UP = 1


def wait_until(holds, what):
    """Where nobody tells: the kernel's files, and what is in a pod."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        if time.monotonic() > deadline:
            raise Failed(f"{what} is not so after {PATIENCE_SECONDS} s")
        time.sleep(POLL_SECONDS)


class PodVandal:
    """Breaks one pod's network."""

    def __init__(self, node):
        self.node, self.ovs = node, node.ovs
        self.kinds = {"port deleted": self.delete_port, "external_ids removed": self.remove_external_ids,
                      "external_ids changed": self.change_external_ids, "link down": self.set_down, "MTU changed": self.change_mtu,
                      "alias lost": self.remove_alias, "VIF added or removed": self.plug, "address added or removed": self.readdress}

    def vsctl(self, *arguments):
        """Again until the database is there, and stays meanwhile."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                return self.ovs.vsctl(*arguments)
            except CalledProcessError as error:
                if time.monotonic() > deadline:
                    raise Failed(f"{' '.join(arguments)}: {error.stderr.strip()}") from None
                time.sleep(POLL_SECONDS)

    def ip(self, *arguments):
        self.node.host.run("ip", "link", "set", *arguments)

    @staticmethod
    def of_link(name, file):
        return Path(f"/sys/class/net/{name}/{file}").read_text().strip()

    def wait_for_port(self, plan):
        self.vsctl("wait-until", "Interface", plan.tap, "ofport>0", f"external_ids:iface-id={plan.port}")

    # ---- rows of Open vSwitch
    def delete_port(self, made):
        self.vsctl("--no-wait", "--if-exists", "del-port", made.pod.plan.tap)
        self.wait_for_port(made.pod.plan)

    def remove_external_ids(self, made):
        self.vsctl("--no-wait", "--if-exists", "remove", "Interface", made.pod.plan.tap, "external_ids", "iface-id", "vm-uuid")
        self.wait_for_port(made.pod.plan)

    def change_external_ids(self, made):
        self.vsctl("--no-wait", "--if-exists", "set", "Interface", made.pod.plan.tap, "external_ids:iface-id=wrong")
        self.wait_for_port(made.pod.plan)

    # ---- links
    def set_down(self, made):
        tap = made.pod.plan.tap
        self.ip(tap, "down")
        wait_until(lambda: int(self.of_link(tap, "flags"), 16) & IFF_UP, f"{tap} up")

    def change_mtu(self, made):
        tap = made.pod.plan.tap
        before = self.of_link(tap, "mtu")
        self.ip(tap, "mtu", "1400")
        wait_until(lambda: self.of_link(tap, "mtu") == before, f"MTU {before} of {tap}")

    def remove_alias(self, made):
        tap = made.pod.plan.tap
        before = self.of_link(tap, "ifalias")
        self.ip(tap, "alias", "")
        wait_until(lambda: self.of_link(tap, "ifalias") == before, f"the alias of {tap}")

    # ---- plans
    def plug(self, made):
        """Gives the pod a second VIF, or takes it away."""
        before, made.second = made.second, None if made.second else Plan(next(self.node.pods.api.numbers))
        self.annotate(made)
        if made.second:
            self.wait_for_port(made.second)
            wait_until(lambda: made.link("net1") and has_address(made, "net1", made.second.cidr), f"net1 of {made.pod.name}")
        else:
            wait_until(lambda: not os.path.exists(f"/sys/class/net/{before.tap}"), f"the end of {before.tap}")

    def readdress(self, made):
        plan = made.pod.plan
        plan.second_address = None if plan.second_address else plan.address.replace("10.10.", "10.10.1", 1)
        self.annotate(made)
        wait_until(lambda: made.addresses() == addresses_of(plan), f"{addresses_of(plan)} of {made.pod.name}")

    def annotate(self, made):
        vifs = {"eth0": made.pod.plan.vif(), **({"net1": made.second.vif()} if made.second else {})}
        self.node.pods.api.annotate(made.pod, {ANNOTATION: json.dumps(vifs)})


def addresses_of(plan):
    """Of a pod's interface."""
    return plan.addresses | ({f"{plan.second_address}/16"} if plan.second_address else set())


def has_address(made, ifname, cidr):
    link = made.link(ifname)
    return any(f"{a['local']}/{a['prefixlen']}" == cidr for a in link["addr_info"])


class NodeVandal:
    """Breaks what all pods of the node share."""

    def __init__(self, node, pods, bystanders, outages, random):
        self.node, self.ovs, self.pods, self.bystanders = node, node.ovs, pods, bystanders
        self.outages, self.random = outages, random
        self.kinds = {"bridge deleted": self.delete_bridge, "database wiped": self.wipe_database,
                      "ovs-vswitchd killed": self.kill_vswitchd, "ovsdb-server killed": self.kill_ovsdb,
                      "kuryr-daemon killed, a port deleted": self.kill_agent}

    @contextlib.contextmanager
    def away(self, name):
        outages = self.outages.begin([name])
        yield
        self.outages.end(outages)

    def pause(self):
        time.sleep(self.random.random() * LONGEST_OUTAGE_SECONDS)

    def delete_bridge(self):
        with self.away("bridge"):
            self.ovs.vsctl("--no-wait", "del-br", self.ovs.bridge)
            self.wait_for_ports()
            self.bystanders.make_rows()

    def wipe_database(self):
        with self.away("database"):
            self.ovs.stop_vswitchd()
            self.ovs.stop_ovsdb()
            (self.ovs.folder / "conf.db").unlink()
            make_database(self.ovs.folder / "conf.db")
            self.ovs.start_ovsdb()
            self.ovs.vsctl("--no-wait", "init")
            self.pause()
            self.ovs.start_vswitchd()
            self.wait_for_ports()
            self.bystanders.make_rows()

    def kill_vswitchd(self):
        with self.away("ovs-vswitchd"):
            self.ovs.stop_vswitchd()
            self.pause()
            self.ovs.start_vswitchd()
            self.wait_for_ports()

    def kill_ovsdb(self):
        with self.away("ovsdb-server"):
            self.ovs.stop_ovsdb()
            self.pause()
            self.ovs.start_ovsdb()
            self.wait_for_ports()

    def kill_agent(self):
        with self.away("kuryr-daemon"):
            self.node.agent.kill()
            made = self.random.choice(self.pods)
            self.ovs.vsctl("--no-wait", "--if-exists", "del-port", made.pod.plan.tap)
            self.pause()
            self.node.agent.start()
            self.wait_for_ports()

    def wait_for_ports(self):
        taps = [made.pod.plan.tap for made in self.pods]
        commands = [word for tap in taps for word in ("--", "wait-until", "Interface", tap, "ofport>0")]
        self.node.host.run("ovs-vsctl", f"--timeout={PATIENCE_SECONDS}", *commands[1:], env=self.ovs.env)
