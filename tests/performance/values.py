"""Single figures of a run, for the prose of templates."""
from performance.numbers import number

PODS_EXTRAPOLATED, NODES_EXTRAPOLATED = 550_000, 5_000
CHANGES_A_SECOND = 20


def values(run):
    """{name: text}"""
    controller, machine = run.controller, run.machine
    plans, small, large = controller["throughput"]["ours"], *controller["memory"]
    packets, watch = run.packets[-1], run.watches[-1]
    stream = watch["change_bytes"] * CHANGES_A_SECOND
    return {
        **{name: str(value) for name, value in machine.items()},
        "date": run.figures["date"], "commit": run.figures["commit"], "memory": f"{machine['memory_mib'] / 1024:.1f} GiB",
        "idle": _idle(run.figures["warnings"]), "minutes": f"{sum(run.figures['seconds'].values()) / 60:.0f}",
        "few": str(run.few), "most": str(run.most), "rounds": _listed([str(node["rounds"]) for node in run.nodes.values()]),
        "peak-500": f"{run.peak_mib(500, run.few):.0f}", "planned": f"{controller['throughput']['pods']:,}",
        "rounds-planned": str(len(controller["throughput"]["rounds"])),
        "small-pods": f"{small['pods']:,}", "small-mib": number(small["mib"]),
        "large-pods": f"{large['pods']:,}", "large-mib": number(large["mib"]), "bytes-of-pod": f"{large['bytes_of_pod']:,.0f}",
        "warm": number(run.takeover("warm")), "cold": number(run.takeover("cold")), "takeover-pods": f"{controller['takeover']['pods']:,}",
        "pods-of-others": str(run.others["local"]["pods"]), "policies": f"{packets['policies']:,}",
        "policed-trip": number(packets["trip_ms"] / packets["trip_free_ms"]),
        "watch-nodes": f"{watch['nodes']:,}", "stream-agent": f"{stream / 1024:.0f}",
        "stream-all": number(stream * watch["nodes"] / 2**20),
        "plans": number(round(plans, -1)), "plans-minutes": f"{PODS_EXTRAPOLATED / plans / 60:.0f}",
        "plans-gib": number(PODS_EXTRAPOLATED * large["bytes_of_pod"] / 2**30)}


def _idle(warnings):
    if not warnings:
        return "Nothing else ran."
    return f"**These figures are a trial, not a measurement: {'; '.join(warnings)}.**"


def _listed(words):
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
