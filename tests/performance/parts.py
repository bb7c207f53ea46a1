"""The measurements of tests/bench/report: each is a command that writes its figures to a file."""
import dataclasses
import json
import subprocess
import time

from harness.process import REPOSITORY

BIN = REPOSITORY / "build/bench/bin"
TARGETS = ("node_bench", "controller_bench", "kuryr-cni", "kuryr-daemon", "kuryr-controller", "fake-apiserver")
PROGRAMS = ("--plugin", BIN / "kuryr-cni", "--daemon", BIN / "kuryr-daemon", "--controller", BIN / "kuryr-controller")


@dataclasses.dataclass(frozen=True)
class Size:
    """What a run counts."""
    pods: str             # on the node
    rounds: str           # of calls, for each number of pods
    planned: tuple        # pods and rounds of controller_bench
    many: int             # pods of its memory
    others: int           # pods that come and go
    policies: tuple       # options of tests/policies/times
    ways: int             # rounds


FULL = Size("20,100,500", "100,60,30", (500, 7), 50_000, 100,
            ("--policies", "0,100,1000", "--nodes", "10,200", "--rounds", "10"), 7)
SHORT = Size("20", "10", (100, 2), 2_000, 5, ("--policies", "0,20", "--nodes", "2", "--rounds", "2"), 1)


def commands(size, file, peers):
    """{part: its command}. file: where it writes; peers: files with network configurations."""
    def others(backend):
        return "tests/bench/others", "--backend", backend, "--pods", size.others, "--sink", "kuryrport", "--json", file, *PROGRAMS

    # Each on a node of its own: the agent keeps memory of bursts.
    nodes = {f"node of {pods}": (BIN / "node_bench", pods, rounds, file, *peers)
             for pods, rounds in zip(size.pods.split(","), size.rounds.split(","), strict=True)}
    return {**nodes, "controller": (BIN / "controller_bench", *size.planned, file, size.many),
            "others local": others("local"), "others ovn": others("ovn"),
            "policies": ("tests/policies/times", *size.policies, "--json", file, *PROGRAMS),
            "ways": ("tests/bench/ways", "--rounds", size.ways, "--json", file)}


def build():
    for command in (("tests/packages", "build", "test"), ("cmake", "--preset", "bench"),
                    ("cmake", "--build", "--preset", "bench", "--target", *TARGETS)):
        subprocess.run(command, cwd=REPOSITORY, check=True)


def measure(size, folder, peers=()):
    """{part: figures}, and {part: seconds}. Throws where a part fails. What the folder has of a run that failed is not measured
    again."""
    figures, seconds = {}, {}
    file = folder / "figures.json"
    all_parts = commands(size, file, peers)
    for number, (part, command) in enumerate(all_parts.items(), 1):
        words, began, kept = [str(word) for word in command], time.monotonic(), folder / f"{part}.json"
        print(f"== {number} of {len(all_parts)}: {part}: {' '.join(words)}", flush=True)
        if not kept.exists():
            file.unlink(missing_ok=True)
            subprocess.run(words, cwd=REPOSITORY, check=True)
            found = {"figures": rounded(json.loads(file.read_text())), "seconds": round(time.monotonic() - began)}
            kept.write_text(json.dumps(found))
        figures[part], seconds[part] = json.loads(kept.read_text()).values()
        print(f"== {part}: {seconds[part]} s", flush=True)
    nodes = [figures.pop(part)[0] for part in all_parts if part.startswith("node of ")]
    return {"node": nodes, **figures}, seconds


def rounded(value):
    """With four digits, which is more than a second run would repeat."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value
