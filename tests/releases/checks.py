"""Facts of a release's folder, read as a user gets it: nothing of the build counts."""
import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

import yaml

from harness.expectation import Failed, expect
from harness.process import run
from harness.report import Skipped
from harness.transcript import Transcript
from releases import folder as contents
from releases import image_checks, program_checks
from releases.archives import unpack
from releases.program_checks import same
from rendering.tree import LEAST_MINOR, OVERLAYS, VERSION, by_name, containers_of, minor_of_kubectl, names, render, workloads


def check(facts, folder, architectures, of_images, work):
    with facts.fact("the folder has all files, and no other", basis=True):
        same(sorted(each.name for each in folder.iterdir()), sorted(contents.expected(architectures, of_images)))
    _signature(facts, folder, work)
    _manifests(facts, folder, work)
    for each in architectures:
        tree = program_checks.check(facts, folder, each, work)
        for name in of_images:
            image_checks.check(facts, folder / contents.image_of(each, name), name, each, tree, work)


# ---- who made it
def _verify(folder):
    """By the page's commands."""
    commands = Transcript("Verify a release", "docs/release.md").take_commands()
    said = run("bash", "-euc", "\n".join(commands), cwd=folder)
    expect(contents.COMMENT in said, said)


def _refuse(folder):
    try:
        _verify(folder)
    except subprocess.CalledProcessError:
        return
    raise Failed("it is taken")


def _signature(facts, folder, work):
    with facts.fact("docs/release.md's commands find signature and checksums right"):
        _verify(folder)
        listed = [line.split()[1] for line in (folder / contents.SUMS).read_text().splitlines()]
        same(set(listed), {each.name for each in folder.iterdir()} - set(contents.SIGNED_BY))
    with facts.fact("they refuse a file with one more byte"), _copy(folder, work) as copy:
        with open(copy / contents.CHART, "ab") as chart:
            chart.write(b"\n")
        _refuse(copy)
        (copy / contents.SUMS).write_bytes(contents.sums_of(copy))
        _refuse(copy)
    with facts.fact("they refuse another's signature"), _copy(folder, work) as copy:
        (copy / contents.PUBLIC_KEY).unlink()
        run("minisign", "-G", "-W", "-s", work / "key", "-p", copy / contents.PUBLIC_KEY)
        _refuse(copy)


@contextlib.contextmanager
def _copy(folder, work):
    with tempfile.TemporaryDirectory(dir=work) as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        yield Path(copy)


# ---- what clusters get
def _objects(folder, overlay):
    return by_name(yaml.safe_load_all((folder / contents.rendered(overlay)).read_text()))


def _manifests(facts, folder, work):
    tree = unpack(folder / contents.MANIFESTS, work / "manifests") / "kubernetes"
    with facts.fact("the manifests' tree gives what each overlay's file has"):
        same(names(tree / "overlays"), names(OVERLAYS))
        if minor_of_kubectl() < LEAST_MINOR:
            raise Skipped(f"kubectl is older than 1.{LEAST_MINOR}")
        for name in names(OVERLAYS):
            same(_objects(folder, name), render(tree / "overlays" / name)[0])
    with facts.fact("their images are this version's"):
        for name in names(OVERLAYS):
            objects = _objects(folder, name)
            found = {container["image"] for each in workloads(objects) for container in containers_of(each["spec"]["template"]["spec"])}
            expect(found and found <= {f"{image}:{VERSION}" for image in contents.IMAGES}, f"{name}: {found}")
    with facts.fact("the chart is of this version, and has a template for each part"):
        chart = unpack(folder / contents.CHART, work / "chart") / "kuryr-cni"
        same(yaml.safe_load((chart / "Chart.yaml").read_text())["version"], VERSION)
        made = {each.name for each in (chart / "templates").iterdir()}
        expect({"agent.yaml", "controller.yaml", "ovn.yaml"} <= made, f"it has {made}")
