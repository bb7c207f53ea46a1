"""A storm of some users, and how long what another user does takes meanwhile."""
import contextlib
import statistics
import time

from harness.expectation import expect
from ovn.storming_users import StormingUser

QUIET = "quiet"
CALM_ROUNDS = 3
# Between two times of calm; so a busy machine makes both slow.
STRETCH_SECONDS = 15
LONGER_SECONDS = 1
AGAIN_SECONDS = 0.02


def add_options(parser):
    parser.add_argument("--users", metavar="N", type=int, default=3, help="who storm (%(default)s)")
    parser.add_argument("--rate", metavar="N", type=float, default=30, help="the most requests of a user in a second (%(default)s)")
    parser.add_argument("--seconds", metavar="N", type=int, default=30, help="of the storm (%(default)s)")


def until(condition, what, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        expect(time.monotonic() < deadline, f"no {what} after {seconds} s")
        time.sleep(AGAIN_SECONDS)


class Storms:
    """On a cluster: what the quiet user does is `acts`, {kind: act}, each of which returns when nodes have it; `forget(count)` removes
    what they made in a look. Beside them it writes a ConfigMap, which concerns the API server and etcd alone."""

    # What the quiet user made stays for so many looks: with more of it all takes longer, whoever storms.
    kept_looks = 10

    def __init__(self, chosen):
        self.users = [StormingUser(f"storm-{number}") for number in range(chosen.users)]
        self.quiet = StormingUser(QUIET)
        self.count = 0

    def lines(self):
        """Cluster's users."""
        return "".join(user.line() for user in (*self.users, self.quiet))

    def move_in(self, cluster):
        for user in (*self.users, self.quiet):
            user.move_in(cluster)

    def settle(self):
        for user in self.users:
            user.settle(self.run_pod)

    def look(self):
        self.count += 1
        if self.count > self.kept_looks:
            self.forget(self.count - self.kept_looks)
        return {kind: timed(act) for kind, act in {"ConfigMap": self.config_map, **self.acts()}.items()}

    def config_map(self):
        self.quiet.insist("POST", self.quiet.config_maps, {"metadata": {"name": f"map-{self.count}"}})

    @contextlib.contextmanager
    def held(self):
        """The users change nothing meanwhile; what they changed before may still wait."""
        for user in self.users:
            user.hold()
        yield
        for user in self.users:
            user.let_go()

    def end(self):
        for user in self.users:
            user.end()

    # ---- what takes how long
    def check(self, facts, chosen):
        """Times of calm and of storm in turn, compared."""
        calm = [self.look() for _ in range(CALM_ROUNDS)]
        for user in self.users:
            user.start(chosen.rate)
        looks, stormed = [], 0
        while stormed < chosen.seconds:
            begin = time.monotonic()
            while time.monotonic() < begin + STRETCH_SECONDS:
                looks.append(self.look())
                seconds = {kind: round(each, 2) for kind, each in looks[-1].items()}
                print(f"{seconds} {self.figures()}", flush=True)
            stormed += time.monotonic() - begin
            with self.held():
                calm += [self.look() for _ in range(CALM_ROUNDS)]
        print(f"calm: {table(calm)}\nstorm of {[round(user.requests.value / stormed) for user in self.users]} requests in a second: "
              f"{table(looks)}; MiB: {self.mib()}", flush=True)
        for kind in calm[0]:
            with facts.fact(f"another user's {kind} takes at most {LONGER_SECONDS} s longer"):
                usual = statistics.median(look[kind] for look in calm)
                most = statistics.median(look[kind] for look in looks)
                expect(most < usual + LONGER_SECONDS, f"{most:.2f} s instead of {usual:.2f} s")
        with facts.fact("no program needs more memory than it may"):
            mib = self.mib()
            expect(all(mib[name] <= most for name, most in self.most_mib.items()), f"{mib}, and at most {self.most_mib}")


def timed(act):
    started = time.monotonic()
    act()
    return time.monotonic() - started


def table(looks):
    return ", ".join(f"{kind} {statistics.median(times):.2f} s, at most {max(times):.2f} s"
                     for kind in looks[0] for times in [[look[kind] for look in looks]])


def mib_of(pids):
    """{name: MiB of its memory}. pids: {name: pid}"""
    found = {}
    for name, pid in pids.items():
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            found[name] = int(status.read().split("VmRSS:")[1].split()[0]) // 1024
    return found
