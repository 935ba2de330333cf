# SPDX-License-Identifier: LGPL-3.0-or-later
"""Everyday programs: each case works in `place.mount` and compares with what the same does on a local disk."""
import contextlib
import os
import random
import shutil
import sqlite3
import stat
import subprocess
import sys

from place import Failed, Missing

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
# Of modification times: what a second holds survives every archive format.
TIME = 1_600_000_000


def make_tree(root, seed=1):
    """A small tree of what archivers meet: sizes, modes, times, names, empty folders."""
    generator = random.Random(seed)
    os.makedirs(root)
    for number, size in enumerate((0, 1, 511, 4096, 65_537, 1_048_576, 3_000_001, 9_437_185)):
        folder = os.path.join(root, f"folder {number % 3}", "below")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, f"file-{number}-é")
        with open(path, "wb") as file:
            file.write(generator.randbytes(size))
        os.chmod(path, (0o644, 0o755, 0o600, 0o444)[number % 4])
        os.utime(path, (TIME + number, TIME + number))
    os.makedirs(os.path.join(root, "empty"))
    for folder, _, _ in os.walk(root, topdown=False):
        os.chmod(folder, 0o755)
        os.utime(folder, (TIME, TIME))


def describe(root, times=True):
    """What is below `root`, as a dictionary by path."""
    found = {}
    for folder, folders, files in os.walk(root):
        for name in folders + files:
            path = os.path.join(folder, name)
            status = os.lstat(path)
            what = [stat.filemode(status.st_mode)]
            if stat.S_ISREG(status.st_mode):
                with open(path, "rb") as file:
                    what += [status.st_size, hash(file.read())]
            if stat.S_ISLNK(status.st_mode):
                what.append(os.readlink(path))
            if times and not stat.S_ISLNK(status.st_mode):
                what.append(int(status.st_mtime))
            found[os.path.relpath(path, root)] = what
    return found


def same(expected, actual, times=True):
    """Compares two trees."""
    wanted, got = describe(expected, times), describe(actual, times)
    wrong = [f"{path}: {got.get(path, 'is not there')} in place of {wanted.get(path, 'nothing')}"
             for path in sorted({*wanted, *got}) if wanted.get(path) != got.get(path)]
    if wrong:
        raise Failed("\n".join([f"{len(wrong)} of {len(wanted)} differ", *wrong[:6]]))


def case_cp(place, _):
    """cp -a into the mount and back; cp -p of one file."""
    tree = os.path.join(place.local, "tree")
    make_tree(tree)
    place.run(["cp", "-a", tree, "tree"])
    place.remount()
    same(tree, os.path.join(place.mount, "tree"))
    place.run(["cp", "-a", "tree", os.path.join(place.local, "back")])
    same(tree, os.path.join(place.local, "back"))
    place.run(["cp", "-p", os.path.join(tree, "folder 0", "below", "file-3-é"), "one"])


def case_bytes(place, _):
    """cp -r into the mount, within it and back: bytes, names and modes, and no times."""
    tree = os.path.join(place.local, "tree")
    make_tree(tree)
    place.run(["cp", "-r", tree, "tree"])
    place.run(["cp", "-r", "tree", "second"])
    place.run(["mv", "second", "third"])
    place.remount()
    same(tree, os.path.join(place.mount, "third"), times=False)
    place.run(["diff", "-r", tree, "tree"])
    place.run(["rm", "-r", "tree", "third"])
    if os.listdir(place.mount):
        raise Failed(f"rm -r left {os.listdir(place.mount)}")


def case_tar(place, _):
    """tar into the mount, compared, and back."""
    tree = os.path.join(place.local, "tree")
    make_tree(tree)
    archive = os.path.join(place.local, "tree.tar")
    place.run(["tar", "-C", place.local, "-cf", archive, "tree"])
    place.run(["tar", "-xpf", archive])
    place.remount()
    place.run(["tar", "-df", archive])
    place.run(["tar", "-cf", "again.tar", "tree"])
    back = os.path.join(place.local, "back")
    os.makedirs(back)
    place.run(["tar", "-C", back, "-xpf", "again.tar"])
    same(tree, os.path.join(back, "tree"))


def case_rsync(place, tools):
    """rsync -a into the mount, which then has nothing to do; a change; and back."""
    rsync = tools.program("rsync")
    tree = os.path.join(place.local, "tree")
    make_tree(tree)
    place.run([rsync, "-a", tree + "/", "tree"])
    place.remount()
    left = place.run([rsync, "-ani", "--checksum", tree + "/", "tree"]).strip()
    if left:
        raise Failed(f"rsync is not content with its copy:\n{left}")
    with open(os.path.join(tree, "folder 2", "below", "file-5-é"), "ab") as file:
        file.write(b"more")
    place.run([rsync, "-a", "--delete", "--inplace", tree + "/", "tree"])
    place.run([rsync, "-a", "tree/", os.path.join(place.local, "back")])
    same(tree, os.path.join(place.local, "back"))


def case_links(place, _):
    """Symbolic links by cp -a, tar and back."""
    tree = os.path.join(place.local, "tree")
    make_tree(tree)
    os.symlink("folder 0/below/file-0-é", os.path.join(tree, "link"))
    os.symlink("/nowhere", os.path.join(tree, "dangling"))
    place.run(["cp", "-a", tree, "tree"])
    place.remount()
    place.run(["tar", "-cf", "tree.tar", "tree"])
    place.run(["tar", "-C", place.local, "--transform=s/^tree/back/", "-xpf", "tree.tar"])
    same(tree, os.path.join(place.local, "back"))


def make_project(root, files=40):
    """A program in C of some files, with a Makefile."""
    os.makedirs(root)
    for number in range(files):
        with open(os.path.join(root, f"f{number}.c"), "w", encoding="ascii") as file:
            file.write(f"int f{number}(void) {{ return {number}; }}\n")
    with open(os.path.join(root, "main.c"), "w", encoding="ascii") as file:
        file.write("#include <stdio.h>\n" + "".join(f"int f{number}(void);\n" for number in range(files)))
        calls = " + ".join(f"f{number}()" for number in range(files))
        file.write(f'int main(void) {{ printf("%d\\n", {calls}); return 0; }}\n')
    with open(os.path.join(root, "Makefile"), "w", encoding="ascii") as file:
        file.write("O = $(patsubst %.c,%.o,$(wildcard *.c))\nsum: lib.a main.o\n\tcc -o $@ main.o lib.a\n"
                   "lib.a: $(filter-out main.o,$(O))\n\tar rcs $@ $^\n%.o: %.c\n\tcc -g -MMD -c -o $@ $<\n"
                   "-include *.d\n")
    return sum(range(files))


GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main", "-c",
       "safe.directory=*"]


def local_repository(place):
    """A repository on the local disk with our own sources in some commits."""
    source = os.path.join(place.local, "source")
    make_project(source)
    place.run([*GIT, "init", "-q"], cwd=source)
    place.run([*GIT, "add", "."], cwd=source)
    place.run([*GIT, "commit", "-qm", "one"], cwd=source)
    shutil.copytree(os.path.join(REPO, "src"), os.path.join(source, "src"))
    place.run([*GIT, "add", "."], cwd=source)
    place.run([*GIT, "commit", "-qm", "two"], cwd=source)
    return source


def case_git(place, _):
    """git clone into the mount, fsck, a branch, commits, gc, and a push back."""
    source = local_repository(place)
    place.run([*GIT, "clone", "-q", "file://" + source, "clone"], seconds=600)
    clone = os.path.join(place.mount, "clone")
    place.run([*GIT, "fsck", "--strict"], cwd=clone)
    if place.run([*GIT, "status", "--porcelain"], cwd=clone):
        raise Failed("git status shows changes of a fresh clone")
    place.run([*GIT, "checkout", "-qb", "branch"], cwd=clone)
    with open(os.path.join(clone, "main.c"), "a", encoding="ascii") as file:
        file.write("// more\n")
    place.run([*GIT, "commit", "-qam", "three"], cwd=clone)
    place.run([*GIT, "stash", "list"], cwd=clone)
    place.run([*GIT, "gc", "-q"], cwd=clone)
    place.run([*GIT, "push", "-q", "origin", "branch"], cwd=clone)
    place.remount()
    place.run([*GIT, "fsck", "--strict"], cwd=clone)
    if place.run([*GIT, "status", "--porcelain"], cwd=clone):
        raise Failed("git status shows changes after a commit")


def case_build(place, _):
    """make -j4 of a small program in C inside the mount, then once more after a change."""
    if shutil.which("make") is None or shutil.which("cc") is None:
        raise Missing("there is no make and cc")
    project = os.path.join(place.mount, "project")
    total = make_project(project)
    place.run(["make", "-j4"], cwd=project)
    if place.run(["./sum"], cwd=project).strip() != str(total):
        raise Failed("what was built computes something else")
    if "up to date" not in place.run(["make", "-j4"], cwd=project):
        raise Failed("make builds again what is up to date")
    with open(os.path.join(project, "f1.c"), "w", encoding="ascii") as file:
        file.write("int f1(void) { return 1001; }\n")
    place.run(["make", "-j4"], cwd=project)
    if place.run(["./sum"], cwd=project).strip() != str(total + 1000):
        raise Failed("a change was not built")


def case_vim(place, _):
    """vim -es changes a file, with its swap file and backups."""
    if shutil.which("vim") is None:
        raise Missing("there is no vim")
    path = os.path.join(place.mount, "text")
    for options in ("set nobackup", "set backup backupcopy=no", "set backup backupcopy=yes"):
        with open(path, "w", encoding="ascii") as file:
            file.write("one\n" * 1000)
        place.run(["vim", "-Nu", "NONE", "-es", "-c", f"set directory=. | {options}", "-c", "%s/one/two/", "-c", "wq",
                   path])
        with open(path, encoding="ascii") as file:
            if file.read() != "two\n" * 1000:
                raise Failed(f"{options}: the text is not what vim wrote")
    left = sorted(set(os.listdir(place.mount)) - {"text", "text~"})
    if left:
        raise Failed(f"vim left {left}")


WRITER = """
import os, sqlite3, sys
base = sqlite3.connect(sys.argv[1], isolation_level=None)
base.execute("pragma cache_size = 10")  # spills into the file before the commit
base.execute("begin")
base.execute("update t set b = randomblob(2000)")
os.kill(os.getpid(), 9)
"""


def case_sqlite(place, _):
    """A database with a rollback journal: commits, rollbacks, a writer that dies half-way, vacuum."""
    path = os.path.join(place.mount, "base")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        base.execute("create table t (a integer primary key, b blob)")
        for commit in range(20):
            base.execute("begin")
            base.executemany("insert into t (b) values (?)", [(os.urandom(300),) for _ in range(100)])
            base.execute("rollback" if commit % 4 == 3 else "commit")
        before = base.execute("select count(*), sum(length(b)) from t").fetchone()
    subprocess.run([sys.executable, "-c", WRITER, path], check=False, timeout=120)
    place.remount()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as base:
        after = base.execute("select count(*), sum(length(b)) from t").fetchone()
        if before != after:
            raise Failed(f"{after} rows and bytes in place of {before}")
        base.execute("delete from t where a % 2 = 0")
        base.execute("vacuum")
        told = base.execute("pragma integrity_check").fetchone()[0]
        if told != "ok":
            raise Failed(f"the database is damaged: {told}")


def case_shutil(place, _):
    """Python's own tests of shutil and tempfile."""
    for module in ("test.test_shutil", "test.test_tempfile"):
        found = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
        if found.returncode != 0:
            raise Missing(f"this Python comes without {module}")
    place.run([sys.executable, "-m", "unittest", "test.test_shutil", "test.test_tempfile"],
              environment={"TMPDIR": place.mount}, seconds=900)
