# SPDX-License-Identifier: LGPL-3.0-or-later
"""The programs that are tried and that this machine may lack. They are put below one folder, and nothing is installed."""
import os
import shutil
import subprocess

from place import Missing, last_lines

# Suites of their own, built by cargo, whose own folder is the only other one that is written to.
CRATES = {"pjdfstest": "0.2.2", "fsx": "0.3.2"}
CRATE_SECONDS = 1800
PACKAGE_SECONDS = 600


class Tools:
    """Of one folder, which may be used again. Without `fetch` there are those of the machine only."""

    def __init__(self, folder, fetch=True):
        self._folder, self._fetch = folder, fetch
        self._packages = os.path.join(folder, "packages")
        self._tried = {}

    def environment(self):
        """For programs that find_program answers."""
        root = os.path.join(self._packages, "root")
        libraries = {folder for folder, _, names in os.walk(root) if any(".so" in name for name in names)}
        return {"LD_LIBRARY_PATH": ":".join(sorted(libraries))} if libraries else {}

    def program(self, name, package=None):
        """The path of a program: the machine's own, a crate's, or that of a Debian package."""
        if name not in self._tried:
            self._tried[name] = self._find(name, package)
        found = self._tried[name]
        if isinstance(found, str):
            return found
        raise found

    def _find(self, name, package):
        try:
            if name not in CRATES and shutil.which(name):
                return shutil.which(name)
            if not self._fetch:
                raise Missing(f"the package {package or name} is not installed")
            return self._crate(name) if name in CRATES else self._unpacked(name) or self._package(name, package or name)
        except (Missing, OSError) as error:
            return Missing(f"there is no {name}: {error}")

    def _crate(self, name):
        version = CRATES[name]
        root = os.path.join(self._folder, f"{name}-{version}")
        path = os.path.join(root, "bin", name)
        if not os.path.exists(path):
            if shutil.which("cargo") is None:
                raise Missing("it needs cargo to be built")
            self._do(["cargo", "install", "--quiet", "--locked", "--root", root, "--version", version, name],
                     CRATE_SECONDS)
        return path

    def _unpacked(self, name):
        path = os.path.join(self._packages, "root", "usr", "bin", name)
        return path if os.path.exists(path) else None

    def _package(self, name, package):
        """Debian's package and those that it needs, unpacked and not installed."""
        if shutil.which("apt-get") is None or os.geteuid() != 0:
            raise Missing(f"it is in the package {package}, which root can fetch")
        os.makedirs(os.path.join(self._packages, "partial"), exist_ok=True)
        fetch = ["apt-get", "install", "-y", "-q", "--download-only", "--no-install-recommends", "-o",
                 f"Dir::Cache::archives={self._packages}", package]
        try:
            self._do(fetch, PACKAGE_SECONDS)
        except Missing:  # perhaps the list of packages is old
            self._do(["apt-get", "update", "-q"], PACKAGE_SECONDS)
            self._do(fetch, PACKAGE_SECONDS)
        for entry in sorted(os.listdir(self._packages)):
            if entry.endswith(".deb"):
                path = os.path.join(self._packages, entry)
                self._do(["dpkg", "-x", path, os.path.join(self._packages, "root")], PACKAGE_SECONDS)
                os.remove(path)
        path = self._unpacked(name)
        if path is None:
            raise Missing(f"the package {package} has none")
        return path

    @staticmethod
    def _do(argv, seconds):
        try:
            done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=seconds,
                                  check=False, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"})
        except subprocess.TimeoutExpired:
            raise Missing(f"{argv[0]} did not end within {seconds} s") from None
        if done.returncode != 0:
            raise Missing(f"{' '.join(argv[:3])} failed: {last_lines(done.stderr)}")
