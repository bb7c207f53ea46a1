"""Kuryr on a node: its kuryr.conf files, and the records of its attachments."""
import itertools
from pathlib import Path

from harness.host import HERE

SECTIONS = {"vif_annotation_timeout": "cni_daemon", "daemon_enabled": "cni_daemon", "agent_wait": "cni_daemon",
            "bind_address": "cni_daemon", "ovs_vsctl_timeout": "os_vif_ovs", "mount_point": "vhostuser",
            "ovs_vhu_path": "vhostuser", "drivers": "binding"}
ATTACHMENTS = Path("/run/kuryr/attachments")


class Kuryr:
    def __init__(self, *services, host=HERE, agents=None, **sections):
        """services: kuryr.conf has their options(); sections: {option: value} of each, which win over a service's; agents: starts
        an agent for each kuryr.conf."""
        self.host, self.agents = host, agents
        self.numbers = itertools.count(1)
        self.options = {}
        for part in (*(service.options() for service in services), sections):
            for section, options in part.items():
                self.options.setdefault(section, {}).update(options)
        self.usual_conf = self.write_conf()

    def write_conf(self, **changes):
        """The path of a new kuryr.conf. changes: options that SECTIONS names."""
        if self.agents:
            changes["bind_address"] = self.agents.next_address()
        options = {section: dict(values) for section, values in self.options.items()}
        for name, value in changes.items():
            options.setdefault(SECTIONS[name], {})[name] = value
        path = self.host.work / f"kuryr-{next(self.numbers)}.conf"
        path.write_text("".join(f"[{name}]\n" + "".join(f"{k} = {v}\n" for k, v in values.items())
                                for name, values in options.items()))
        if self.agents:
            self.agents.start(path)
        return str(path)

    def record_of(self, attachment):
        network = attachment.node.target.conf["name"]
        return self.host.path(ATTACHMENTS / f"{network}:{attachment.container_id}:{attachment.ifname}")

    def remains(self):
        """Records of attachments."""
        folder = self.host.path(ATTACHMENTS)
        return {f"record {file.name}" for file in folder.iterdir()} if folder.is_dir() else set()
