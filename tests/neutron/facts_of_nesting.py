"""Nested pods: kuryr-controller makes sub-ports of the trunk that a node's virtual machine has."""
import signal

from controller.controllers import Controller
from harness.expectation import expect_same
from neutron.network import TAG

NODE = "node2"


class Machine:
    """The port and the trunk of a virtual machine that is a node."""

    def __init__(self, planning):
        self.neutron = planning.neutron
        port = self.neutron.create("port", network_id=planning.network.network["id"], name=NODE)
        self.trunk = self.neutron.create("trunk", port_id=port["id"], name=NODE)["id"]
        self.subnet, address = port["fixed_ips"][0]["subnet_id"], port["fixed_ips"][0]["ip_address"]
        planning.api.patch(f"/api/v1/nodes/{NODE}/status",
                           {"status": {"addresses": [{"type": "InternalIP", "address": address}]}})

    def sub_ports(self):
        """{port: VLAN}"""
        found = self.neutron.get(f"trunks/{self.trunk}/get_subports")["sub_ports"]
        return {each["port_id"]: each["segmentation_id"] for each in found}

    def ports_of(self, uid):
        return self.neutron.get(f"ports?description=pod%20{uid}")["ports"]


def check(facts, planning):
    with facts.fact("nested-vlan: a node is found by its InternalIP, and a kuryr-controller plans for it", basis=True):
        machine = Machine(planning)
        controller = Controller(1, planning.controller.program, planning.api, "kuryrport", planning.network.backend() +
                                f"[kubernetes]\npod_vif_driver = nested-vlan\n"
                                f"[pod_vif_nested]\nworker_nodes_subnets = {machine.subnet}\n")
        uid = planning.create("nested", NODE)
        vif = planning.wait_for("its plan", lambda: planning.vifs_of("nested"))["eth0"]
        expect_same({vif["id"]: vif["vlan_id"]}, machine.sub_ports(), "sub-ports")
    with facts.fact("nested-vlan: the sub-port is found by its description, where Neutron writes the owner itself"):
        port, = machine.ports_of(uid)
        expect_same([vif["id"], "trunk:subport", "", [TAG]],
                    [port["id"], port["device_owner"], port["device_id"], port["tags"]], "port")
    with facts.fact("nested-vlan: killed before it has written a sub-port, the next one writes it with its VLAN, and makes no second"):
        outlive_a_kill(planning, machine, controller)
    with facts.fact("nested-vlan: deleted pods' ports leave the trunk, and are gone"):
        planning.delete("nested")
        planning.wait_for("no port", lambda: not machine.ports_of(uid))
        expect_same({}, machine.sub_ports(), "sub-ports")
        controller.end(signal.SIGTERM)


def outlive_a_kill(planning, machine, controller):
    def find_sub_port(uid):
        return [port for port in machine.ports_of(uid) if port["id"] in machine.sub_ports()]

    uid, port, vif = planning.outlive_a_kill(controller, "nested-killed", find_sub_port, NODE)
    expect_same([1, vif["vlan_id"]], [len(machine.ports_of(uid)), machine.sub_ports()[port["id"]]], "ports, and the VLAN")
    planning.delete("nested-killed")
    planning.wait_for("no port", lambda: not machine.ports_of(uid))
    expect_same(1, len(machine.sub_ports()), "sub-ports")
