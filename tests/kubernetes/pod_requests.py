"""The requests to the API server in a pod's life, by its audit log and by docs/performance.md."""
from harness.process import REPOSITORY
from kubernetes import audit

PAGE = REPOSITORY / "docs/performance.md"
WRITES = ("create", "update", "patch", "delete")
WHOSE = {audit.CONTROLLER: "kuryr-controller", audit.AGENT: "kuryr-daemon"}


class Requests:
    def __init__(self, asked):
        """asked: what audit.read() gives."""
        self.asked = asked

    def of(self, pod):
        """{what: number}, as documented() has them. A pod's end begins with the first request of others to delete it."""
        its = [each for each in self.asked if each.pod == ("default", pod)]
        end = min(each.received for each in its if each.right == ("", "pods", "delete") and each.user not in WHOSE)
        found = dict.fromkeys(("beginning", "end", "reads"), 0)
        for each in its:
            if each.user in WHOSE:
                found[_when(each, end)] += 1
        return found


def _when(asked, end):
    if asked.verb not in WRITES:
        return "reads"
    return "beginning" if asked.received < end else "end"


def documented(sink, release):
    """The numbers of the page's table of requests. release: a kubernetes.release.Release."""
    row = f"`{sink}`" if release.ends_pods_first or sink != "kuryrport" else f"`{sink}` before Kubernetes 1.34"
    for line in PAGE.read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0] == row:
            return dict(zip(("beginning", "end", "reads"), map(int, cells[1:4])))
    raise ValueError(f"{PAGE} has no row {row}")
