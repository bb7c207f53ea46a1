"""Policies by chance allow what a second reading of the API's words allows."""
import random

from harness import launcher
from ovn.admin_chance import AdminChance
from ovn.policy_chance import Chance
from ovn.policy_reading import allowed

KILL_EACH = 10


def add_options(parser, policies):
    """A launcher's. policies: how many are made by default."""
    launcher.add_seed(parser)
    parser.add_argument("--policies", metavar="N", type=int, default=policies, help="how many are made (%(default)s)")


def check(facts, cluster, chosen, has_admins):
    """cluster: PolicedPods without policies; chosen: the launcher's options; has_admins: the backend knows admins' policies."""
    chance = Chance(random.Random(chosen.seed), cluster.namespaces, cluster.pods)
    admins = AdminChance(chance) if has_admins else None
    makers = [each for each in (chance, admins) if each]
    with facts.fact(f"{chosen.policies} policies by chance allow what the API's words allow, and nothing else"):
        for number in range(chosen.policies):
            if number % KILL_EACH == KILL_EACH - 1:
                print(f"[{number}/{chosen.policies}] {cluster.times()}", flush=True)
                cluster.kill_controller()
            change_all(cluster, [change for maker in makers for change in maker.next()])
            of_admins = [each for _, each in admins.policies] if admins else []
            wanted = allowed(chance.policies, of_admins, chance.namespaces, chance.pods, cluster.all_ways())
            cluster.expect_ways(wanted, f"after {number + 1} policies\n{chance}\n{admins}")
    with facts.fact("without policies all pods reach each other again"):
        change_all(cluster, [change for maker in makers for change in maker.remove_all()])
        cluster.expect_ways(cluster.all_ways())


def change_all(cluster, changes):
    for change in changes:
        cluster.apply(change)
