"""Mount, network and process namespaces of its own for a function, with /run and /var/lib/cni empty."""
import ctypes
import os
import signal
import subprocess
import traceback

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
LIBC = ctypes.CDLL(None, use_errno=True)


def unshare(flags):
    if LIBC.unshare(flags) != 0:
        raise OSError(ctypes.get_errno(), "unshare: " + os.strerror(ctypes.get_errno()))


def prctl_die_with_parent():
    LIBC.prctl(1, signal.SIGKILL)


def run(*command, **options):
    """A command that has to succeed; gives its output."""
    options.setdefault("check", True)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    return done.stdout


def private_mounts():
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    subprocess.run(["mount", "-t", "sysfs", "sysfs", "/sys"], stderr=subprocess.DEVNULL, check=False)
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    # Nothing may be made on the machine: where there is no /var/lib/cni, all of /var/lib is ours.
    run("mount", "-t", "tmpfs", "tmpfs", "/var/lib/cni" if os.path.isdir("/var/lib/cni") else "/var/lib")
    os.makedirs("/var/lib/cni", exist_ok=True)
    os.makedirs("/run/netns")
    os.makedirs("/run/lock")


def in_namespaces(function):
    """Runs function() as the first process of new namespaces, writing bytes to a pipe. Gives (pid, read end): whoever
    reads the pipe to its end and waits for the pid has it all; whatever function() started dies with it."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writer)
        return pid, reader
    os.close(reader)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setpgid(0, 0)
    prctl_die_with_parent()
    unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET)
    first = os.fork()
    if first:
        os.close(writer)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]) & 0xFF)
    prctl_die_with_parent()
    try:
        private_mounts()
        run("ip", "link", "set", "lo", "up")
        os.chdir("/")
        with os.fdopen(writer, "wb") as pipe:
            pipe.write(function())
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(0)
