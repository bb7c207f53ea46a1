"""Kubernetes' own network tests, its [sig-network] [Conformance], on a cluster."""
import shutil
import subprocess
from xml.etree import ElementTree

from harness.expectation import expect
from harness.namespaces import WORK

ALL = r"\[sig-network\].*\[Conformance\]"
# Those that every run has: at least one of each kind of way that a packet takes.
SOME = (r"\[sig-network\].*(intra-pod|node-pod|DNS for services|functioning NodePort|session affinity work|multiport"
        r"|proxy through a service and a pod).*\[Conformance\]")
# Of NetworkPolicies: each waits until forbidden connections have failed.
POLICY = r"\[Feature:NetworkPolicy\]"
SOME_POLICIES = r"(stacked policies|ingress access on one named port|controlled independently|from updated pod).*" + POLICY
# Kernels of test machines have no SCTP.
SKIPPED = r"\[Disruptive\]|SCTP"
AT_ONCE = 8
SECONDS = 1200
SAID = 1500


def state(facts, cluster, focus, log):
    """A fact for each test whose name matches. cluster: TwoNodes; log: a file for what they say."""
    with facts.fact("Kubernetes' network tests come to their end", basis=True):
        outcomes = _run(cluster, focus, log)
    for name, failure in outcomes.items():
        with facts.fact(name):
            expect(not failure, failure[:SAID])


def _run(cluster, focus, log):
    """{name: what failed, or ""}"""
    results = WORK / "results"
    programs = cluster.release.programs
    command = [
        f"{programs}/ginkgo", *cluster.release.ginkgo_options(AT_ONCE), f"--focus={focus}", f"--skip={SKIPPED}", f"{programs}/e2e.test",
        "--", "--provider=skeleton", f"--kubeconfig={cluster.admin}", f"--kubectl-path={shutil.which('kubectl')}",
        f"--report-dir={results}",
        "--dns-domain=cluster.local", "--num-nodes=2", "--minStartupPods=0", "--disable-log-dump", "--dump-logs-on-failure=false"]
    with open(log, "wb") as said:
        # ginkgo writes into the working directory.
        ended = subprocess.run(command, cwd=WORK, stdout=said, stderr=said, timeout=SECONDS, check=False)
    outcomes = {name: failure for file in sorted(results.glob("junit_*.xml")) for name, failure in _read(file)}
    passed = not any(outcomes.values())
    expect(outcomes and passed == (ended.returncode == 0), log.read_text(errors="replace")[-SAID:])
    return outcomes


def _read(file):
    for case in ElementTree.parse(file).getroot().iter("testcase"):
        failure = case.find("failure")
        if case.find("skipped") is None:
            yield " ".join(case.get("name").split()), "" if failure is None else failure.text or "it failed"
