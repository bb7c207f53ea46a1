"""containerd, with the configuration that /etc has."""
import subprocess

from harness.cri import Cri
from harness.process import run


class Containerd:
    def __init__(self, log):
        """Ready when it returns."""
        self._log = log
        self._start()
        self.cri = Cri("/run/containerd/containerd.sock")
        self.cri.version()

    def restart(self):
        """As systemd does. Containers run on."""
        self._stop()
        self._start()
        self.cri.connect()
        self.cri.version()

    def _start(self):
        with open(self._log, "ab") as said:
            self._daemon = subprocess.Popen(["containerd"], stdout=said, stderr=said)

    def _stop(self):
        self._daemon.terminate()
        self._daemon.wait()

    @staticmethod
    def import_images(*archives):
        """For pods."""
        for archive in archives:
            run("ctr", "-n", "k8s.io", "images", "import", archive)

    def __enter__(self):
        return self.cri

    def __exit__(self, *_):
        self.cri.close()
        self._stop()
