"""What a result depends on: programs, the files that they name, the machine.

A file below tests/, etc/ or docs/, and a program of the same build, are inputs of what spells their names: a script, a module
that it imports, a program's constants. Of a path that is put together, all of the folder is. A name too many costs a run."""
import ast
import functools
import hashlib
import os
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folder is that of cmake/CacheFolder.cmake.
CACHE = Path(os.environ.get("KURYR_CACHE_DIR") or os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")) + "/kuryr-cni")
# What is before it, a path of the tree, the end of its string.
PATH = re.compile(rb"(\0/?|/|)((?:tests/|etc/|docs/|README\.md)[\w./-]*)(?=(\0?))")
# Programs have them in them.
COMPILED = (".cc", ".h", ".c", "CMakeLists.txt")
# These differ between two shells, and no test reads them.
OF_A_SHELL = ("_", "OLDPWD", "PWD", "SHLVL", "TERM", "COLUMNS", "LINES", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE")
# Their programs are of Debian's packages.
PACKAGED = ("/bin", "/sbin", "/usr/bin", "/usr/sbin")
PT_LOAD, PF_X = 1, 1


def digest_of(*parts):
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()


def stamp(path):
    """Another one for another content; None where there is no file."""
    try:
        there = os.stat(path)
    except OSError:
        return None
    return there.st_ino, there.st_size, there.st_mtime_ns


def digest(path):
    return _digest(path, stamp(path))


@functools.lru_cache(None)
def _digest(path, there):
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if there else ""


def constants(content):
    """What a program has in memory beside its code. Its debug information names its sources."""
    begin, size, count = struct.unpack_from("<Q", content, 32)[0], *struct.unpack_from("<HH", content, 54)
    headers = (struct.unpack_from("<IIQQQQ", content, begin + number * size) for number in range(count))
    return b"\0".join(content[offset:offset + length] for kind, flags, offset, _, _, length in headers
                      if kind == PT_LOAD and not flags & PF_X)


def programs_of(build):
    """What the tests of a build execute: {name: file}."""
    return {file.name: file for file in sorted(Path(build, "bin").glob("*"))
            if os.access(file, os.X_OK) and not file.name.endswith(("_test", "_fuzz"))}


@dataclass(frozen=True)
class Script:
    words: bytes = b""  # what it may read or execute
    modules: frozenset = frozenset()  # that it imports, and their packages
    asks_where: bool = False  # which folder it is in, to find what is beside it


@functools.lru_cache(None)
def read_script(name, path, there):
    """Of a script, or of a page with commands; any other file has no words. name: in the tree."""
    content = path.read_bytes() if there else b""
    asks_where = re.search(rb"__file__|BASH_SOURCE|\$0", content) is not None
    if name.endswith(".py") or content.startswith(b"#!/usr/bin/python3"):
        nodes = list(ast.walk(ast.parse(content)))
        return Script(strings_of(nodes), frozenset(modules_of(name, nodes)), asks_where)
    return Script(content, asks_where=asks_where) if content.startswith(b"#!") or name.endswith(".md") else Script()


def strings_of(nodes):
    """The strings of a program of Python, without those that describe it."""
    described = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return "\0".join(node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
                     and id(node) not in described).encode()


def modules_of(name, nodes):
    modules = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = ".".join((*(Path(name).parts[1:-node.level] if node.level else ()), *filter(None, (node.module,))))
            modules |= {package} | {f"{package}.{alias.name}" for alias in node.names}
    return {".".join(parts[:length]) for parts in (module.split(".") for module in modules) for length in range(1, len(parts) + 1)}


@functools.lru_cache(None)
def read_program(file, _there, programs):
    """(paths that may be of the tree, those of the programs) that its strings are."""
    data = constants(file.read_bytes())
    # The linker keeps a string in a longer one that ends like it.
    paths = {path for begin, path, end in PATH.findall(data) if begin.startswith(b"\0") or (begin and end)}
    return paths, [name for name in programs if re.search(rb"/%s(?![\w.-])|\0%s\0" % (2 * (re.escape(name.encode()),)), data)]


class Inputs:
    """The files of the clone as they were when this was made, with what they are now."""

    def __init__(self, root=ROOT):
        self.root = root
        listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=root, stdout=subprocess.PIPE, check=True)
        self.files = {file for file in listed.stdout.decode().split("\0") if file and not file.endswith(COMPILED)}
        self.folders = {}
        for file in self.files:
            for folder in Path(file).parents:
                self.folders.setdefault(str(folder), set()).add(file)

    # ---- states
    def of_program(self, file):
        """The state of a test's program, of the programs beside it and of the files that it names."""
        return self._state(*self._named(Path(file)), file)

    def of_scripts(self, scripts, build, folders=()):
        """The state of scripts, of their own and these folders, of what they lead to, and of the programs of the build among it."""
        reached, executed = self.reached_from(scripts)
        own = [folder for script in scripts if (folder := os.path.dirname(script)) != "tests"]
        # An image is made of what its file in etc/ names.
        content = b"\0".join((*(self.script(file).words for file in executed),
                              *(self.content(file) for file in reached if file.startswith("etc/"))))
        named = [path for name, path in programs_of(build).items() if name.encode() in content]
        return self._state(reached.union(*(self.folders.get(folder, ()) for folder in (*own, *folders))), named)

    def _state(self, files, programs, *more):
        return digest_of(*(f"{file} {digest(self.root / file)}" for file in (*sorted(files), *programs, *more)))

    def _named(self, file):
        """(files, programs) that a program names, and what these files lead to."""
        beside = programs_of(file.parents[1])
        paths, names = read_program(file, stamp(file), tuple(beside))
        scripts, of_folders = self.named_in((path, path.startswith(b"tests/")) for path in paths)
        return self.reached_from(scripts)[0] | of_folders, [beside[name] for name in names]

    # ---- the way from file to file
    def reached_from(self, scripts):
        """(all files that the scripts lead to, those of them that may be executed)"""
        reached, followed, left = set(), set(), set(scripts)
        while left:
            file = left.pop()
            script = self.script(file)
            # What a script names below /etc is the machine's.
            named, of_folders = self.named_in((path, not (begin and path.startswith(b"etc/"))) for begin, path, _ in
                                              PATH.findall(script.words))
            stems = {f"tests/{module.replace('.', '/')}" for module in script.modules}
            modules = {path for stem in stems for path in (f"{stem}.py", f"{stem}/__init__.py") if path in self.files}
            followed.add(file)
            # A page's commands are executed, not what else it names.
            left |= (modules | (set() if file.endswith(".md") else named)) - followed
            reached |= {file} | named | of_folders
            if script.asks_where and (folder := os.path.dirname(file)) != "tests":
                reached |= {each for each in self.folders[folder] if os.path.dirname(each) == folder}
        return reached, followed

    def script(self, file):
        return read_script(file, self.root / file, stamp(self.root / file))

    def named_in(self, paths):
        """(files that these paths name, all files of the folders that they name). paths: (path, whether it may be the begin of one)"""
        files, of_folders = set(), set()
        for word, is_begin in paths:
            path = os.path.normpath(word.decode().rstrip("."))
            while is_begin and path and not path.endswith(COMPILED) and path not in self.files and path not in self.folders:
                path = os.path.dirname(path)
            if path in self.files:
                files.add(path)
            elif path != "tests":  # It is in the path of each source.
                of_folders |= self.folders.get(path, set())
        return files, of_folders

    def content(self, file):
        path = self.root / file
        return path.read_bytes() if path.is_file() else b""


def machine(installed=Path("/var/lib/dpkg/status")):
    """The state of what is outside of the clone: packages (also in roots of other Debians), programs that are of none, the kernel,
    the environment."""
    statuses = (installed, *sorted(CACHE.glob("root-*/var/lib/dpkg/status")))
    folders = {*os.environ.get("PATH", "").split(":"), os.environ.get("KUBEBUILDER_ASSETS", "")} - {*PACKAGED, ""}
    folders = (*sorted(map(Path, folders)), *sorted(CACHE.glob("kubernetes-*")))
    programs = [file for folder in folders for file in sorted(folder.glob("*"))]
    environment = [f"{name}={value}" for name, value in sorted(os.environ.items()) if name not in OF_A_SHELL]
    kernel = os.uname()
    return digest_of(*map(digest, statuses), *(f"{file} {stamp(file)}" for file in programs), *environment,
                     kernel.release, kernel.version, kernel.machine, os.cpu_count())
