"""The builds that a release is made of."""
import subprocess
from pathlib import Path

from harness.process import run
from releases.folder import Target
from rendering.tree import ROOT

BUILD = "cmake --preset {0} && cmake --build --preset {0}"


def own_architecture():
    return run("dpkg --print-architecture").strip()


def own():
    """build/release as it is."""
    return Target(own_architecture(), ROOT / "build/release")


def build_own():
    subprocess.run(["bash", "-c", BUILD.format("release")], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return own()
