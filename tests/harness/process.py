"""Programs that have to succeed."""
import shlex
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run(*words, prefix=(), **options):
    """A program's stdout; CalledProcessError, with its stderr, when it fails and check is not False. words: the command, or one
    command line; prefix: a command that runs it; options are subprocess.run's."""
    command = shlex.split(words[0]) if len(words) == 1 else [str(word) for word in words]
    return subprocess.run([*prefix, *command], **{"check": True, "text": True, "capture_output": True, **options}).stdout
