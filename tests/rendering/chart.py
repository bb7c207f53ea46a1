"""The chart that etc/kubernetes/chart/make makes, rendered by Go's text/template with sprig's functions, as Debian packages them."""
import json
import os
import subprocess
from pathlib import Path

import yaml

from rendering.tree import FOLDER, ROOT, by_name

SOURCE = ROOT / "tests/rendering/render_chart.go"
PROGRAM = ROOT / "build/rendering/render-chart"
SPRIG = Path("/usr/share/gocode/src/github.com/Masterminds/sprig")
GO = {"GO111MODULE": "off", "GOPATH": "/usr/share/gocode", "CGO_ENABLED": "0", "GOFLAGS": "-buildvcs=false"}


class Refused(Exception):
    """A template's own fail."""


def build():
    if PROGRAM.exists() and PROGRAM.stat().st_mtime > SOURCE.stat().st_mtime:
        return
    PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["/usr/bin/go", "build", "-o", PROGRAM, SOURCE], env=os.environ | GO, check=True)


class Chart:
    def __init__(self, folder):
        """Made in that folder."""
        subprocess.run([FOLDER / "chart/make", folder], check=True)
        self.path = Path(folder, "kuryr-cni")
        # The names of the chart's file are lower case, those of Helm's built-in object are not.
        self.about = {key[0].upper() + key[1:]: value for key, value in yaml.safe_load((self.path / "Chart.yaml").read_text()).items()}
        self.values = yaml.safe_load((self.path / "values.yaml").read_text())
        self.definitions = by_name(yaml.safe_load_all((self.path / "crds/kuryrport.yaml").read_text()))

    def render(self, **values):
        """{(kind, name): object}, with the definitions that Helm applies first; Refused. values: in place of, or within, the defaults."""
        templates = {file.name: file.read_text() for file in sorted((self.path / "templates").iterdir())}
        told = {"Templates": templates, "Chart": self.about, "Values": merged(self.values, values)}
        done = subprocess.run([PROGRAM], input=json.dumps(told), capture_output=True, text=True, check=False)
        if done.returncode:
            raise Refused(done.stderr)
        objects = [each for text in json.loads(done.stdout).values() for each in yaml.safe_load_all(text) if each]
        assert len(objects) == len(by_name(objects)), "an object is made twice"
        return {**self.definitions, **by_name(objects)}


def merged(values, others):
    """As Helm merges them: maps are, all else is replaced."""
    if not isinstance(values, dict) or not isinstance(others, dict):
        return others
    return {**values, **{key: merged(values.get(key), value) for key, value in others.items()}}
