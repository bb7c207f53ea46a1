"""RTM: what the runtime reads of ours."""
import json
from pathlib import Path

from .case import NotApplicable, case, expect

CONFLIST = Path(__file__).resolve().parents[2] / "etc" / "10-kuryr.conflist"


@case("RTM-05", "HARD")
def our_list(node):
    """our 10-kuryr.conflist: cniVersions are listed, and supported; capabilities are declared"""
    if not node.profile:
        raise NotApplicable("speaks of kuryr-cni's 10-kuryr.conflist")
    conf = json.loads(CONFLIST.read_text())
    expect(set(conf) <= {"cniVersion", "cniVersions", "name", "disableCheck", "disableGC", "plugins"}, f"{sorted(conf)}")
    expect(conf["cniVersion"] in node.target.supported, f"cniVersion {conf['cniVersion']}")
    listed = conf.get("cniVersions", [])
    expect(listed and set(listed) <= set(node.target.supported), f"cniVersions {listed}")
    ours = [plugin for plugin in conf["plugins"] if plugin["type"] == "kuryr-cni"]
    expect(len(ours) == 1 and all("/" not in plugin["type"] for plugin in conf["plugins"]), "types of plugins")
    expect(ours[0].get("capabilities", {}).get("mac"), f"capabilities {ours[0].get('capabilities')}")
