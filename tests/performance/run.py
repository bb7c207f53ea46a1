"""A run of tests/bench/report: the figures by name, from its JSON."""
FLOOR, AGENT, ALONE = "bare requests", "kuryr-cni and agent", "kuryr-cni alone"
GO_L2, GO_IPAM = "go-bridge-l2", "go-bridge-host-local"
NAMES = {FLOOR: "floor", AGENT: "kuryr-cni with kuryr-daemon", ALONE: "kuryr-cni alone", GO_L2: "Go bridge, an L2 interface only",
         GO_IPAM: "Go bridge with host-local"}
DONE = "DEL, kernel done"


class Run:
    def __init__(self, figures):
        self.figures, self.machine = figures, figures["machine"]
        self.nodes = {node["pods"]: node for node in figures["node"]}
        self.few, self.most = min(self.nodes), max(self.nodes)
        self.controller, self.ways = figures["controller"], figures["ways"]["ways"]
        self.others = {backend: figures[f"others {backend}"]["kuryrport"] for backend in ("local", "ovn")}
        self.packets, self.watches = figures["policies"]["packets"], figures["policies"]["watches"]

    def all_ways(self):
        """{way: its name on pages}. Peers of the run have their own."""
        return {way: NAMES.get(way, way) for way in self.nodes[self.few]["single"]}

    def call(self, way, command, pods=None, percentile="p50"):
        return self.nodes[pods or self.few]["single"][way][command][percentile]

    def burst(self, way, command, count, pods=None):
        """None where it was not measured."""
        return self.nodes[pods or self.few]["bursts"].get(str(count), {}).get(way, {}).get(command)

    def agent(self, figure, pods):
        return self.nodes[pods]["agent"][figure]

    def peak_mib(self, count, pods):
        """The agent's, while so many calls are at work."""
        kib = self.burst(AGENT, "agent_peak_kib", count, pods)
        return None if kib is None else kib / 1024

    def takeover(self, kind):
        times = sorted(self.controller["takeover"][f"{kind}_s"])
        return times[len(times) // 2]
