"""The run that had ovs-cni and kuryr-kubernetes: tests/bench/peers.json, as its README and the front page show it."""
from performance.comparisons import comparisons
from performance.numbers import number, ratio, table

ADD = "ADD, 20 pods"
BRIDGE = "Debian's Go bridge with host-local, without Open vSwitch"


def peers(earlier):
    columns = list(next(iter(earlier["rows"].values())))
    rows = [[row, *(number(values[column]) for column in columns)] for row, values in earlier["rows"].items()]
    return table(["ms", *columns], rows)


def readme(run, earlier):
    """Each ratio is of one run."""
    found = comparisons(run)
    rows = []
    for name, text, to_floor in (("add", "ADD", True), ("add", "ADD", False), ("del", "DEL, answered", True),
                                 ("del-done", "DEL, kernel done", False), ("burst", "32 ADDs at once, total time", False)):
        each = found[name]
        other, value = ("the floor", each.floor) if to_floor else (BRIDGE, each.peer)
        rows.append([text, f"{number(each.ours)} ms", f"{other}: {number(value)} ms", ratio(each.ours / value)])
    times = earlier["rows"][ADD]
    ours = times["kuryr-cni with kuryr-daemon"]
    for peer, name in earlier["peers"].items():
        rows.append(["ADD, earlier run", f"{number(ours)} ms", f"{name}: {number(times[peer])} ms", ratio(ours / times[peer])])
    return table([f"with {run.few} pods on the node", "kuryr-cni with kuryr-daemon", "compared with", "ratio"], rows)
