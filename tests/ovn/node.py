"""A node of OVN's: its ovn-controller and Open vSwitch, an API server, kuryr-daemon, and pods on logical ports."""
import subprocess

from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_node import AgentNode, kuryr_target
from harness.namespaces import WORK
from ovn.central import EVENT_SECONDS, HOST_NAME, Ovn

# Who serves the plugin's calls.
AGENT, ALONE = "by the agent", "by kuryr-cni alone"
MODES = (AGENT, ALONE)


class OvnNode(AgentNode):
    def __init__(self, plugin, daemon):
        make_certificates(WORK / "tls")
        super().__init__(kuryr_target(plugin), FakeApiServer(WORK / "tls", WORK / "api.log"), daemon=daemon)
        self.ovn = Ovn(self.ovs.vsctl)
        self.confs = {AGENT: self.usual_conf, ALONE: self.kuryr_conf(daemon_enabled="false")}

    def options(self):
        usual = super().options()
        return {**usual, "kubernetes": {**usual["kubernetes"], "node_name": HOST_NAME},
                "cni_daemon": {"daemon_enabled": "true", "vif_annotation_timeout": EVENT_SECONDS}}

    # ---- pods
    def sandbox(self, port, mode, conf=None):
        """Of a new pod whose annotation has the port; conf: another kuryr.conf than the mode's."""
        pod = self.api.create_pod(f"pod-{self.number()}", port)
        return self.attachment(pod=pod, conf={"kuryr_conf": conf or self.confs[mode]})

    def running_pod(self, port, mode):
        made = self.sandbox(port, mode)
        made.add().result()
        return made

    def second_sandbox(self, first):
        return self.attachment(pod=first.pod, conf=first.base_conf)

    def sandbox_of_successor(self, old):
        """Of a pod that has the old one's name and port."""
        self.api.delete_pod(old.pod)
        pod = self.api.create_pod(old.pod.name, old.pod.plan)
        return self.attachment(pod=pod, conf=old.base_conf)

    @staticmethod
    def answers_within(call, seconds):
        try:
            call.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    # ---- its switch
    def wait_until_wired(self, port):
        """Until ovn-controller says that the port's flows are there."""
        self.ovs.vsctl("wait-until", "Interface", port.tap, "external_ids:ovn-installed=true")

    def is_wired(self, port):
        return self.ovs.vsctl("get", "Interface", port.tap, "external_ids:ovn-installed").strip() == '"true"'

    def wait_for_rules(self):
        """Until the next packet goes by what the northbound database says."""
        self.ovn.sync()
        self.ovs.forget_flows()

    def parts(self):
        """What can be killed and started again: {name: (how it is killed, how it is started)}"""
        found = {part: (lambda part=part: self.ovn.kill(part), lambda part=part: self.ovn.start(part))
                 for part in self.ovn.commands}
        return found | {"ovs-vswitchd": (self.ovs.stop_vswitchd, self.ovs.start_vswitchd),
                        "ovsdb-server": (self.ovs.stop_ovsdb, self.ovs.start_ovsdb),
                        "kuryr-daemon": (self.agent.kill, self.agent.start)}
