"""What suites measure, as JSON for whoever draws tables of it. Suites run in processes of their own, one after another."""
import json
import os
from pathlib import Path


def add_option(parser):
    parser.add_argument("--json", metavar="FILE", type=os.path.abspath, help="write the figures there, too")


def write(file, key, figures):
    """Adds them to the object of that file, which is made where it is missing. file: None for nowhere."""
    if file:
        path = Path(file)
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, key: figures}, indent=2) + "\n")
