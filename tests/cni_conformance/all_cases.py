"""Every case, in the order of the groups."""
from cni_conformance import environment, config, versions, results, add, delete, check, gc, status  # noqa: F401
from cni_conformance import chaining, delegation, capabilities, errors, concurrency, runtime  # noqa: F401
from cni_conformance.case import CASES as REGISTERED

GROUPS = ["ENV", "CFG", "VER", "RES", "ADD", "DEL", "CHK", "GC", "STA", "CHN", "DLG", "CAP", "ERR", "CON", "RTM"]
CASES = dict(sorted(REGISTERED.items(), key=lambda item: (GROUPS.index(item[0].split("-")[0]), item[0])))
