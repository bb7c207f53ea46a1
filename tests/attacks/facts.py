"""Facts of a node to which pods with hostile annotations come."""
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

from attacks import floods, known, known_devices
from attacks.device_host import DeviceHost
from attacks.grammar import Attack
from attacks.host import AttackedHost
from harness.expectation import differences, expect, nothing, wait_for_none
from harness.kube_api import FakeApiServer, make_certificates
from harness.kuryr_node import kuryr_target
from harness.namespaces import WORK
from harness.traffic import Traffic

AT_A_TIME = 8
MOST_MIB = 64
INTERNAL = "999"


def state(facts, chosen):
    make_certificates(WORK / "tls")
    kind, attacks, changes = (DeviceHost, known_devices.ALL, known_devices.CHANGES) if chosen.devices else (AttackedHost, known.ALL, ())
    with facts.fact("a node with devices, and two pods that talk", basis=True):
        host = kind(kuryr_target(chosen.plugin), FakeApiServer(WORK / "tls", WORK / "api.log"), chosen.daemon)
        node = host.node
        host.make_devices()
        victims = host.make_victims()
        traffic = Traffic([(made.netns_path, made.pod.plan.address) for made in victims[:2]])
        expect(traffic.wait_until_all_flow(), "they do not")
        before = host.picture()
    try:
        _try_known(facts, node, attacks, victims[0].pod.plan)
        _attack(facts, chosen, node, victims, changes)
        if not chosen.devices:
            _flood(facts, node)
        with facts.fact("the two pods have lost no packet"):
            expect(traffic.wait_until_all_flow(), "they talk no more")
            nothing(traffic.lost(), f"of {traffic.count()} packets lost")
    finally:
        traffic.stop()
    with facts.fact("links, addresses, routes, sysctls, files, sockets and Open vSwitch are as before"):
        # ovs-vswitchd answers before it gives the bridge its MTU back.
        wait_for_none(lambda: _changes(before, host.picture()), "things are not as they were")


def _changes(before, now):
    return [differences(before.get(what, "not there"), now.get(what, "not there"), what)
            for what in sorted({*before, *now}) if before.get(what) != now.get(what)]


def _try_known(facts, node, attacks, victim):
    for number, attack in enumerate(attacks):
        with facts.fact(f"{attack.text}: code {attack.code}"):
            added, deleted = _come_and_go(node, f"known-{number}", attack.annotations(number, victim))
            added.error(attack.code) if attack.code else added.result()
            deleted.silent()


def _attack(facts, chosen, node, victims, changes):
    """ADD and DEL of each pod; problems are told at the end."""
    chance = random.Random(chosen.seed)
    plans = [made.pod.plan for made in victims]
    attacks = [Attack(number, random.Random(chance.random()), plans, changes) for number in range(chosen.attacks)]
    with ThreadPoolExecutor(AT_A_TIME) as attackers:
        ended = list(attackers.map(lambda attack: _come_and_go(node, f"attacker-{attack.plan.port}", attack.annotations),
                                   attacks))
    codes = Counter(map(_code_of, (added for added, _ in ended)))
    with facts.fact(f"each of {chosen.attacks} pods is answered: " +
                    ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))):
        nothing((f"{added} for {attack}" for (added, _), attack in zip(ended, attacks) if _code_of(added) == INTERNAL),
                "by an internal error")
        expect(codes["success"] < chosen.attacks, "none was refused")
    with facts.fact("each DEL succeeds"):
        nothing((f"{deleted} for {attack}" for (_, deleted), attack in zip(ended, attacks) if not deleted.succeeded()),
                "do not")
    with facts.fact("no error tells of another pod"):
        secrets = {secret for made in victims for secret in _facts_of(made)}
        nothing((f"{added} for {attack}" for (added, _), attack in zip(ended, attacks) if _told(added, attack, secrets)), "do")


def _told(added, attack, secrets):
    """The secrets that an error tells, and that its pod's user did not know."""
    text = "" if added.succeeded() else added.stdout.decode(errors="replace")
    return [secret for secret in secrets if secret in text and secret not in str(attack.annotations)]


def _facts_of(made):
    """Facts of a pod that an error must not tell the user of another one, unless that user has written them."""
    plan = made.pod.plan
    return made.pod.uid, made.container_id, made.pod.name + ",", plan.port, plan.mac, plan.address


def _flood(facts, node):
    for text, flood in floods.ALL.items():
        with facts.fact(f"{text}, and kuryr-daemon has at most {MOST_MIB} MiB"):
            node.agent.forget_memory()
            flood(node)
            had = node.agent.most_memory()
            print(f"kuryr-daemon had {had:.1f} MiB at most", flush=True)
            expect(had < MOST_MIB, f"it had {had:.1f}")


def _code_of(added):
    return "success" if added.succeeded() else str(added.error()["code"])


def _come_and_go(node, name, annotations):
    """The answers to ADD and DEL of a pod with these annotations."""
    pod = node.pods.create(name, annotations=annotations)
    made = node.attachment(pod=pod)
    added, deleted = made.add(), made.delete()
    node.end_namespace(made)
    node.pods.api.delete_pod(pod)
    return added, deleted
