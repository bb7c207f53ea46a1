"""OVN and Open vSwitch as another Debian has them: the programs of its root folder, run on the test's node."""
import os
import subprocess
from pathlib import Path

from harness.process import REPOSITORY, run
from harness.report import CANNOT, Skipped

CACHE = Path(os.environ.get("KURYR_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "kuryr-cni"))
MAKE_ROOT = REPOSITORY / "tests/roots/make"
# The roots are not below /run, which each of them gets.
ROOTS = Path("/mnt")
# In mounts of its own: ROOT [PATH-INSIDE PATH-OUTSIDE]... -- COMMAND...
ENTER = """
root=$1
shift
for folder in proc sys dev run; do mount --rbind "/$folder" "$root/$folder"; done
while [ "$1" != -- ]; do
  mkdir -p "$root$1"
  mount --bind "$2" "$root$1"
  shift 2
done
shift
exec chroot "$root" "$@"
"""


class Release:
    def __init__(self, suite, root="/"):
        """suite: the Debian's name; root: its root folder, to which nothing is written."""
        self.suite, self.root = suite, ROOTS / suite
        upper, work = (ROOTS / f"{suite}-{name}" for name in ("written", "work"))
        if not os.path.ismount(ROOTS):
            run("mount", "-t", "tmpfs", "tmpfs", ROOTS)
        for folder in (self.root, upper, work):
            folder.mkdir()
        run("mount", "-t", "overlay", "-o", f"lowerdir={root},upperdir={upper},workdir={work}", "overlay", self.root)
        self.ovn, self.ovs = (self._version(program) for program in ("ovn-controller", "ovs-vswitchd"))

    def __str__(self):
        return f"OVN {self.ovn}"

    def _version(self, program):
        return run(program, "--version", prefix=self.enter()).split("\n")[0].split()[-1]

    def enter(self, mounts=()):
        """A command that runs its argument in the root; /run is the node's. mounts: pairs of a folder inside, and of the test's."""
        pairs = [str(word) for pair in mounts for word in pair]
        return ["unshare", "--mount", "--propagation", "private", "sh", "-euc", ENTER, "sh", str(self.root), *pairs, "--"]

    def schema_version(self, database):
        """The version of the schema that it has for a database, "nb" or "sb"."""
        return run("ovsdb-tool", "schema-version", f"/usr/share/ovn/ovn-{database}.ovsschema", prefix=self.enter()).strip()


def make_roots(suites):
    """Those that can be had; release_of finds them then. In a node's namespaces no mirror answers."""
    for suite in suites:
        subprocess.run([MAKE_ROOT, suite, CACHE], stdout=subprocess.DEVNULL, check=False)


def release_of(suite, roots):
    """roots: {suite: a root folder that is there}; tests/roots/make makes others. Throws Skipped."""
    return Release(suite, roots[suite] if suite in roots else _make_root(suite))


def _make_root(suite):
    made = subprocess.run([MAKE_ROOT, suite, CACHE], text=True, stdout=subprocess.PIPE, check=False)
    if made.returncode == CANNOT:
        raise Skipped(f"no root of Debian {suite}")
    made.check_returncode()
    return made.stdout.strip()
