"""The tables of docs/performance.md, from a run."""
from performance.comparisons import comparisons
from performance.numbers import number, ratio, table
from performance.run import AGENT, DONE, FLOOR

BURSTS = (8, 32, 100)


def one(run):
    head = ["", "floor", "kuryr-cni", "peer", "ratio to the floor", "to the peer"]
    return table(head, [each.cells() for each in comparisons(run).values()])


def _spreads(run, way, command):
    return [" / ".join(number(run.call(way, command, pods, each)) for each in ("p50", "p99")) for pods in run.nodes]


def _pods(run):
    return [f"{pods} pods on the node" if pods == run.few else f"{pods} pods" for pods in run.nodes]


def adds(run):
    return table(["ADD, ms: p50 / p99", *_pods(run)], [[name, *_spreads(run, way, "ADD")] for way, name in run.all_ways().items()])


def dels(run):
    rows = []
    for way, name in run.all_ways().items():
        if way in (FLOOR, AGENT):
            rows.append([f"{name}: answered", *_spreads(run, way, "DEL")])
        rows.append([f"{name}: kernel done", *_spreads(run, way, DONE)])
    return table(["DEL, ms: p50 / p99", *_pods(run)], rows)


def bursts(run):
    """Of the fewest pods."""
    ways = run.all_ways()
    rows = []
    for command in ("ADD", "DEL"):
        for count in BURSTS:
            values = [run.burst(way, command, count) for way in ways]
            rows.append([f"{count} {command}s at once", *map(number, values), ratio(values[list(ways).index(AGENT)] / values[0])])
    return table([f"ms in all, {run.few} pods on the node", *ways.values(), "kuryr-daemon's ratio to the floor"], rows)


def agent(run):
    def row(text, figure, shown=number):
        return [text, *(shown(run.agent(figure, pods)) for pods in run.nodes)]

    def peak(count):
        return [f"its peak while {count} calls are at work, MiB", *(number(run.peak_mib(count, pods)) for pods in run.nodes)]

    return table(["kuryr-daemon, pods on the node", *map(str, run.nodes)],
                 [row("memory, MiB", "resident_kib", lambda kib: number(kib / 1024)), peak(100), peak(500),
                  row("CPU for an ADD and its DEL, ms", "cpu_ms_of_add_and_del"), row("threads", "threads"),
                  row("wake-ups in 10 s without a call", "idle_wake_ups_in_10_s")])


def beside(run):
    """All ways beside kuryr-cni with kuryr-daemon."""
    def cells(ours, values):
        return [number(ours), *(f"{number(value)} ({ratio(ours / value)})" for value in values)]

    ways = {way: name for way, name in run.all_ways().items() if way != AGENT}
    rows = []
    for pods in run.nodes:
        for command, text in (("ADD", "ADD"), (DONE, "DEL, kernel done")):
            ours = run.call(AGENT, command, pods)
            rows.append([f"{text}, {pods} pods", *cells(ours, [run.call(way, command, pods) for way in ways])])
    for command in ("ADD", "DEL"):
        ours = run.burst(AGENT, command, 32)
        rows.append([f"32 {command}s at once, {run.few} pods", *cells(ours, [run.burst(way, command, 32) for way in ways])])
    return table(["ms", "kuryr-cni with kuryr-daemon", *ways.values()], rows)


def plans(run):
    found, latency = run.controller["throughput"], run.controller["latency"]
    ratios = [each["ours"] / each["bare"] for each in found["rounds"]]

    def cpu(whose):
        values = [each[f"{whose}_cpu_ms"] for each in found["rounds"]]
        return f"{min(values):.2f} to {max(values):.2f}"

    return table(["", "floor", "kuryr-controller"], [
        ["pods planned a second, median", number(found["bare"]), number(found["ours"])],
        ["ratio of the medians; of single rounds", "1",
         f"{ratio(found['ours'] / found['bare'])}; {min(ratios):.2f} to {max(ratios):.2f}"],
        ["CPU for a pod, ms", cpu("bare"), cpu("ours")],
        ["from a pod's creation to its plan, one at a time, p50 / p99", "",
         f"{number(latency['p50_ms'])} / {number(latency['p99_ms'])} ms"]])


def others(run):
    """What a pod costs the programs of others."""
    def cells(costs):
        return [number(costs["cpu_ms"]), f"{number(costs['read_kib'])} / {number(costs['written_kib'])}"]

    rows = []
    for backend, found in run.others.items():
        for program, costs in found["comes"].items():
            rows.append([f"{backend}: {program}", *cells(costs), *cells(found["goes"][program])])
    return table(["backend: program", "a pod comes: ms of CPU", "KiB read / written", "it goes: ms of CPU", "KiB read / written"], rows)


def policies(run):
    def pair(free, policed, unit, digits=".2f"):
        return f"{free:{digits}}; {policed:{digits}} {unit}, {policed / free:.2g} times"

    rows = [[f"{each['policies']:,}", pair(each["add_free_ms"], each["add_ms"], "ms", ".0f"),
             pair(each["trip_free_ms"], each["trip_ms"], "ms"), pair(each["tcp_free_mb"], each["tcp_mb"], "MB/s", ".0f"),
             f"{number(each['effect_p50_ms'])} ms, {number(each['effect_most_ms'])} ms"] for each in run.packets]
    return table(["policies on one pod", "ADD of a free pod; of one that they select", "a round trip to each", "TCP to each",
                  "from the request for a policy to its effect, median and most"], rows)


def watches(run):
    rows = [[f"{each['nodes']:,}", f"{number(each['mib'])} MiB", f"{number(each['list_s'])} s", f"{number(each['change_ms'])} ms",
             f"{number(each['api_list_s'])} s, {number(each['api_change_ms'])} ms", number(each["change_bytes"])] for each in run.watches]
    return table(["nodes with 110 pods each", "the agent's memory", "its CPU for the first list", "its CPU for a change of a pod",
                  "the API server's CPU for list and change", "bytes for a change"], rows)


def ways(run):
    first = run.ways[0]
    rows = []
    for each in run.ways:
        trip, rate = each["round_trip_us"], each["tcp_gb"]
        rows.append([each["way"], f"{trip:.0f} µs ({trip / first['round_trip_us']:.2f} times)",
                     f"{rate:.2f} Gb/s ({rate / first['tcp_gb']:.2f} times)"])
    return table(["way", "round trip", "TCP"], rows)


ALL = {each.__name__: each for each in (one, adds, dels, bursts, agent, beside, plans, others, policies, watches, ways)}
