"""Strikes against controllers and API server."""
import signal
import time

# Longer than the Lease, and some time to take it.
TAKEOVER_SECONDS = 60
BEYOND_LEASE_SECONDS = 16
# Until every candidate has looked at a Lease once more.
SEEN_SECONDS = 5
SHORT_PAUSE_SECONDS = (0.2, 2)
MOST_BEFORE_SECONDS = 0.4


class Storm:
    """Strikes one after the other. `begin(share)` is called before each and lets that share of the work begin; settle() after it
    returns when work has been done."""

    def __init__(self, cluster, controllers, random, kills, restarts):
        self.cluster, self.controllers, self.random = cluster, controllers, random
        self.restarts = restarts
        self.strikes = self.choose(kills)
        self.counts = {}

    def choose(self, kills):
        """One in eight kills and pauses takes as long as the Lease, and one in four restarts of the API server. For each eight,
        one more leader ends in order."""
        quick = (self.kill_follower, self.pause_any, self.pause_leader)
        strikes = [self.random.choice(quick) for _ in range(kills)]
        for at in range(0, kills, 8):
            strikes[at] = self.kill_leader if at % 16 else self.outsleep
        strikes += [self.end_leader] * max(1, kills // 8)
        for number in range(self.restarts):
            strikes.append(self.restart_api_slowly if number % 4 == 0 else self.restart_api)
        self.random.shuffle(strikes)
        return strikes

    def run(self, begin, settle):
        for strike in self.strikes:
            begin(1 / (len(self.strikes) + 1))
            time.sleep(self.random.uniform(0, MOST_BEFORE_SECONDS))
            began = time.monotonic()
            strike()
            settle()
            self.controllers.look_for_crashes()
            name = strike.__name__.replace("_", " ")
            self.counts[name] = self.counts.get(name, 0) + 1
            print(f"        {name}: {time.monotonic() - began:.1f} s", flush=True)
        begin(1)

    # ---- strikes
    def end_leader(self):
        """In order: another leads at once."""
        self.restart(self.wait_for_leader(), signal.SIGTERM)

    def kill_follower(self):
        leader = self.wait_for_leader()
        followers = [each for each in self.controllers.all if each is not leader]
        self.restart(self.random.choice(followers or [leader]), signal.SIGKILL)

    def kill_leader(self):
        self.change_leader(signal.SIGKILL)

    def pause_any(self):
        self.pause(self.random.choice(self.controllers.all), self.random.uniform(*SHORT_PAUSE_SECONDS))

    def pause_leader(self):
        self.pause(self.wait_for_leader(), self.random.uniform(*SHORT_PAUSE_SECONDS))

    def outsleep(self):
        """The leader sleeps until another leads, then goes on as if nothing had been."""
        leader = self.wait_for_leader()
        before = self.cluster.history.leader()
        leader.signal(signal.SIGSTOP)
        try:
            self.wait_for_another(before)
        finally:
            leader.signal(signal.SIGCONT)

    def restart_api(self):
        self.cluster.api.kill()
        self.cluster.etcd.compact()
        self.cluster.api.start()

    def restart_api_slowly(self):
        """When it is there again the Lease has expired, and another leads as soon as it can be asked."""
        leader = self.wait_for_leader()
        before = self.cluster.history.leader()
        leader.end(signal.SIGKILL)
        time.sleep(SEEN_SECONDS)
        self.cluster.api.kill()
        self.cluster.etcd.compact()
        time.sleep(BEYOND_LEASE_SECONDS - SEEN_SECONDS)
        self.cluster.api.start()
        leader.start()
        self.wait_for_another(before)

    # ---- parts of them
    def change_leader(self, number=signal.SIGTERM):
        """By SIGTERM another one leads at once, by SIGKILL after the Lease."""
        leader = self.wait_for_leader()
        before = self.cluster.history.leader()
        self.restart(leader, number)
        self.wait_for_another(before)

    def restart(self, controller, number):
        controller.end(number)
        controller.start()

    def pause(self, controller, seconds):
        controller.signal(signal.SIGSTOP)
        time.sleep(seconds)
        controller.signal(signal.SIGCONT)

    def wait_for_leader(self):
        deadline = time.monotonic() + TAKEOVER_SECONDS
        while (leader := self.controllers.leader()) is None:
            if time.monotonic() > deadline:
                raise AssertionError("no controller leads")
            time.sleep(0.1)
        return leader

    def wait_for_another(self, before):
        history = self.cluster.history
        history.wait(lambda: history.leader() not in ("", before), "another leads", TAKEOVER_SECONDS)
