"""Programs of other commits of this repository."""
import contextlib
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.kube_api import CACHE
from harness.process import REPOSITORY, run


def last_release():
    """The commit from which CHANGELOG.md says that upgrades are tested."""
    found = re.search(r"^Commit `([0-9a-f]{40})`", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    return found[1]


@contextlib.contextmanager
def tree_of(commit):
    """A worktree of the commit."""
    with tempfile.TemporaryDirectory(prefix="kuryr-former-", dir="/var/tmp") as folder:
        git = ["git", "-C", str(REPOSITORY), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", f"{folder}/tree", commit], check=True)
        try:
            yield f"{folder}/tree"
        finally:
            subprocess.run([*git, "remove", "--force", f"{folder}/tree"], check=True)


def built(tree, programs, **options):
    """The folder of the tree's release programs."""
    for command in (["--preset", "release", *(f"-D{name}={value}" for name, value in options.items())],
                    ["--build", "--preset", "release", "--target", *programs]):
        ended = subprocess.run(["cmake", *command], cwd=tree, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if ended.returncode:
            sys.exit(f"{tree} cannot be built:\n{ended.stdout}")
    return Path(tree, "build/release/bin")


def former_programs(commit, programs):
    """The folder of a commit's release programs, named by the commit; built once, and kept in the cache. commit: None for the last
    release."""
    commit = run("git", "-C", REPOSITORY, "rev-parse", "--short=12", commit or last_release()).strip()
    kept = Path(CACHE, "former", commit)
    if not all((kept / name).exists() for name in programs):
        print(f"{commit} is built, which takes some minutes", flush=True)
        kept.mkdir(parents=True, exist_ok=True)
        with tree_of(commit) as tree:
            folder = built(tree, programs)
            for name in programs:
                shutil.copy2(folder / name, kept)
    return kept
