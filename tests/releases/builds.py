"""The builds that a release is made of, each with its Debian packages in its folder debs/."""
import subprocess

from releases.emulation import own_architecture
from releases.folder import Target
from rendering.tree import ROOT

BUILD = "cmake --preset {0} && cmake --build --preset {0}"
PACK = ("rm -rf build/{0}/debs && SOURCE_DATE_EPOCH={1} cpack --config build/{0}/CPackConfig.cmake -G DEB -B build/{0}/debs && "
        "rm -r build/{0}/debs/_CPack_Packages")
# The root that builds for arm64, of the oldest Debian that is supported.
SUITE = "bookworm+arm64"


def built_own(epoch):
    """build/release as it is."""
    _run("bash", "-c", PACK.format("release", epoch))
    return Target(own_architecture(), ROOT / "build/release")


def build_own(epoch):
    _run("bash", "-c", BUILD.format("release"))
    return built_own(epoch)


def build_arm64(epoch):
    _run("tests/roots/enter", SUITE, "bash", "-c", f"{BUILD} && {PACK}".format("arm64", epoch))
    return Target("arm64", ROOT / "build" / SUITE / "arm64")


def _run(*words):
    done = subprocess.run(words, cwd=ROOT, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(done.stdout[-2000:])
