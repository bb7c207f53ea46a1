"""An attachment: a container's namespace and interface, the calls for it, and what the kernel says of it."""
import json
import os

from harness.expectation import Failed, expect


class Attachment:
    """Calls take changes to the environment as keyword arguments (None: unset) and another configuration as `conf`."""

    def __init__(self, node, ifname="eth0", beside=None, container_id=None, netns=None, make=False,
                 like=None, conf=None, **plan):
        """beside: another attachment, whose container this one joins; netns: the name of a namespace that is there already, unless
        make; like: another attachment, whose pod this one belongs to; plan: options of the pod's plan, where there is one."""
        self.node = node
        self.ifname = ifname
        self.container_id = container_id or (beside.container_id if beside else node.new_name() * 2)
        self.netns = netns or (beside.netns if beside else "cni-" + node.new_name())
        self.base_conf = conf
        self.args = (beside or like).args if beside or like else None
        self.result = None
        if not beside and (make or not netns):
            node.host.run("ip", "netns", "add", self.netns)
        if not beside and not like:
            node.describe(self, **plan)

    @property
    def netns_path(self):
        return "/var/run/netns/" + self.netns

    def conf(self, **changes):
        conf = {**self.node.conf(), **(self.base_conf or {}), **changes}
        return {key: value for key, value in conf.items() if value is not None}

    def environment(self, command, **changes):
        own = {"CNI_CONTAINERID": self.container_id, "CNI_NETNS": self.netns_path, "CNI_IFNAME": self.ifname}
        if self.args:
            own["CNI_ARGS"] = self.args
        return self.node.environment(command, **{**own, **changes})

    def start(self, command, conf=None, plugin=None, **env):
        return self.node.start_call(self.conf() if conf is None else conf, self.environment(command, **env), plugin)

    def call(self, command, conf=None, plugin=None, **env):
        return self.node.call(self.conf() if conf is None else conf, self.environment(command, **env), plugin)

    def add(self, conf=None, **env):
        answer = self.call("ADD", conf, **env)
        if answer.succeeded():
            self.result = answer.document()
        return answer

    def with_result(self, result=None, conf=None):
        """The configuration that DEL and CHECK get after ADD; before 0.4.0 there is no prevResult for them."""
        conf = self.conf() if conf is None else conf
        result = result or self.result
        return {**conf, "prevResult": result} if result and self.node.at_least("0.4.0") else conf

    def check(self, result=None, **env):
        return self.call("CHECK", self.with_result(result), **env)

    def delete(self, conf=None, **env):
        return self.call("DEL", self.with_result() if conf is None else conf, **env)

    def delete_quietly(self):
        try:
            self.delete()
        except Failed:
            pass

    # ---- the kernel's view
    def ip(self, *arguments):
        return self.node.host.run("ip", "-n", self.netns, *arguments)

    def link(self, name=None):
        """The container's interface with its addresses, or None."""
        found = json.loads(self.ip("-j", "-d", "addr", "show"))
        return next((link for link in found if link["ifname"] == (name or self.ifname)), None)

    def present(self):
        return self.link() is not None

    def addresses(self):
        """The interface's global addresses, ADDRESS/PREFIX."""
        return {f"{a['local']}/{a['prefixlen']}" for a in self.link()["addr_info"] if a["scope"] == "global"}

    def routes(self):
        """Routes of the main table, of both families, without those that the kernel made itself."""
        found = json.loads(self.ip("-j", "route", "show")) + json.loads(self.ip("-6", "-j", "route", "show"))
        return [route for route in found if route.get("protocol") != "kernel"]

    def index(self):
        return self.link()["ifindex"]

    def netns_inode(self):
        return os.stat(self.node.host.path(f"/run/netns/{self.netns}")).st_ino

    def host_end(self):
        """The host's link whose peer the interface is."""
        link = self.link()
        peers = [each for each in self.node.links().values() if each["ifindex"] == link.get("link_index")]
        return peers[0] if peers else None

    def picture(self):
        """A pod's interface, as the kernel and its record have it: all that has to stay while the pod runs."""
        inside = [{**{key: link.get(key) for key in ("ifname", "ifindex", "link_index", "address", "mtu", "operstate")},
                   "addresses": sorted(f"{a['local']}/{a['prefixlen']}" for a in link["addr_info"])}
                  for link in json.loads(self.ip("-j", "addr", "show"))]
        host = json.loads(self.node.host.run("ip", "-j", "-d", "link", "show", "dev", self.pod.plan.tap))[0]
        return {"inside": inside, "routes": self.routes(),
                "host end": {key: host.get(key) for key in ("ifindex", "address", "mtu", "ifalias", "operstate")},
                "up": "UP" in host["flags"], "record": self.node.kuryr.record_of(self).read_text()}

    def expect_gone(self, text="after DEL"):
        expect(not self.present(), f"{self.ifname} is in the container {text}")
