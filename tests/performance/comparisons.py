"""kuryr-cni beside its floor and beside a peer, in one run: the rows of the first table, and of README.md's."""
import dataclasses

from performance.numbers import number, ratio
from performance.run import AGENT, ALONE, DONE, FLOOR, GO_IPAM

AT_ONCE = 32
BRIDGE = "Go bridge with host-local"


@dataclasses.dataclass(frozen=True)
class Comparison:
    text: str
    unit: str
    floor: float | None
    ours: float
    peer: float | None = None
    peer_name: str = ""

    def cells(self):
        def shown(value):
            return "" if value is None else f"{number(value)} {self.unit}".strip()

        peer = f"{shown(self.peer)}: {self.peer_name}" if self.peer is not None else ""
        return [self.text, shown(self.floor), shown(self.ours), peer, self.of_floor(), self.of_peer()]

    def of_floor(self):
        return ratio(self.ours / self.floor) if self.floor else ""

    def of_peer(self):
        return ratio(self.ours / self.peer) if self.peer else ""


def comparisons(run):
    """{name: Comparison}"""
    few, most = run.few, run.most

    def call(text, ours, command, pods):
        return Comparison(f"{text}, {pods} pods on the node", "ms", run.call(FLOOR, command, pods), run.call(ours, command, pods),
                          run.call(GO_IPAM, command, pods), BRIDGE)

    answered = dataclasses.replace(call("DEL with kuryr-daemon, answered", AGENT, "DEL", few), peer=None)
    return {"add": call("ADD with kuryr-daemon", AGENT, "ADD", few), "add-most": call("ADD with kuryr-daemon", AGENT, "ADD", most),
            "add-alone": call("ADD without kuryr-daemon", ALONE, "ADD", few), "del": answered,
            "del-done": call("DEL with kuryr-daemon, kernel done", AGENT, DONE, few),
            "burst": Comparison(f"{AT_ONCE} ADDs at once, {few} pods on the node", "ms", run.burst(FLOOR, "ADD", AT_ONCE),
                                run.burst(AGENT, "ADD", AT_ONCE), run.burst(GO_IPAM, "ADD", AT_ONCE), BRIDGE),
            "plans": Comparison("pods that kuryr-controller plans a second", "", run.controller["throughput"]["bare"],
                                run.controller["throughput"]["ours"]),
            "trip": Comparison("round trip between two pods of a node, with a route for each", "µs", run.ways[0]["round_trip_us"],
                               run.ways[1]["round_trip_us"]),
            "memory": Comparison(f"kuryr-daemon's memory, {few} pods on the node", "MiB", None,
                                 run.agent("resident_kib", few) / 1024),
            "wake-ups": Comparison("kuryr-daemon's wake-ups in 10 s without a call", "", None,
                                   run.agent("idle_wake_ups_in_10_s", few))}
