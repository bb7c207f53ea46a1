"""Each part is killed and started again."""
from ovn import exchange
from ovn.exchange import FAMILIES
from ovn.central import CONTROLLER, NB, NORTHD, SB
from ovn.node import AGENT, MODES, running_pod

# Without any other part the userspace datapath stands still.
NOT_ON_THE_WAY = (CONTROLLER, NORTHD, NB, SB, "kuryr-daemon")


def parts_of(node):
    """{name: (how the part is killed, how it is started again)}"""
    found = {part: (lambda part=part: node.ovn.kill(part), lambda part=part: node.ovn.start(part)) for part in node.ovn.commands}
    return found | {"ovs-vswitchd": (node.ovs.stop_vswitchd, node.ovs.start_vswitchd),
                    "ovsdb-server": (node.ovs.stop_ovsdb, node.ovs.start_ovsdb),
                    "kuryr-daemon": (node.agent.kill, node.agent.start)}


def check(facts, node, topology, pods):
    for part, (kill, start) in parts_of(node).items():
        kill()
        if part in NOT_ON_THE_WAY:
            with facts.fact(f"while {part} is away the pods reach each other"):
                pods.reach_each_other()
        start()
        with facts.fact(f"{part} was killed and is back: the pods reach each other"):
            node.ovn.sync()
            pods.reach_each_other()
        with facts.fact(f"{part} was killed and is back: a new pod is claimed, reached, and released"):
            for mode in MODES:
                comes_and_goes(node, topology.add_port(2), mode, pods)
    with facts.fact("ovn-controller ended in order and is back: it claims the ports again, and the pods reach each other"):
        node.ovn.exit(CONTROLLER)
        try:
            for made in pods.all.values():
                node.ovn.wait_for_release(made.pod.plan.id)
        finally:
            node.ovn.start(CONTROLLER)
        for made in pods.all.values():
            node.ovn.wait_for_claim(made.pod.plan.id)
        pods.reach_each_other()


def comes_and_goes(node, port, mode, pods):
    made = running_pod(node, port, mode)
    try:
        node.ovn.wait_for_claim(port.id)
        for family in FAMILIES:
            exchange.ping(made, pods.all[AGENT, 1], family)
            exchange.tcp(pods.all[AGENT, 1], made, family)
    finally:
        made.delete().silent()
    node.ovn.wait_for_release(port.id)
