# SPDX-License-Identifier: LGPL-3.0-or-later
"""Hosts of a site on one machine, for files that name hosts, ports and folders: each has a name, addresses (IPv4 and IPv6)
and a network of its own, and its own /run, /srv, /usr/local, /var/lib, /var/log and
/var/spool. /etc is one for all of them.

    site = Hosts(self)                            # a component test
    site.add("gateway1.example.org")              # ... all of them, then
    site.run("gateway1.example.org", ["xec", ...])          # waits; a Result
    site.start("gateway1.example.org", ["xec", "serve"])    # in the background; a Process
"""
import os
import pwd
import re
import shlex
import shutil
import socket

import xectest

PRIVATE = ("/run", "/srv", "/usr/local", "/var/lib", "/var/log", "/var/spool")
UNITS = "/lib/systemd/system"
NET4, NET6 = "10.77.0.", "fd77::"


class Hosts:
    def __init__(self, test):
        self._test = test
        test.enter_mounts()
        try:
            self.user = pwd.getpwnam("xrootd")
        except KeyError:
            test.skipTest("needs the user xrootd, of the package xrootd-server")
        if not os.path.exists(UNITS + "/xrootd@.service"):
            test.skipTest("needs the units of the package xrootd-server")
        etc = test.path("etc")
        shutil.copytree("/etc", etc, symlinks=True)
        test.run_program(["mount", "--bind", etc, "/etc"])
        test.addCleanup(test.run_program, ["umount", "-l", "/etc"])
        os.makedirs("/etc/xec", exist_ok=True)
        self._holders = {}
        # Without the loopback's name XRootD would call the test itself by it.
        self._lines = ["127.0.0.1 localhost", "::1 localhost"]
        self._ip("link", "add", "br0", "type", "bridge")
        test.addCleanup(self._ip, "link", "del", "br0")
        self._ip("addr", "add", NET4 + "1/24", "dev", "br0")
        self._ip("addr", "add", NET6 + "1/64", "dev", "br0", "nodad")
        self._ip("link", "set", "br0", "up")
        # XRootD 6.1 calls a host by an address if its name has none, and takes no shared secret from there.
        self._name("1", f"client.example.org {os.uname().nodename}")

    def _ip(self, *words):
        self._test.run_program(["ip", *words])

    def _name(self, number, name):
        self._lines += [f"{NET4}{number} {name}", f"{NET6}{number} {name}"]
        with open("/etc/hosts", "w", encoding="ascii") as file:
            file.write("\n".join(self._lines) + "\n")

    def add(self, name):
        number = len(self._holders) + 10
        self._name(number, name)
        folder = self._test.path("hosts", name)
        binds = []
        for path in PRIVATE:
            own = os.path.join(folder, path[1:].replace("/", "-"))
            os.makedirs(own)
            binds.append(f"mount --bind {own} {path}")
        for path in ("run/xrootd", "srv/xec", "var-log/xrootd", "var-spool/xrootd"):
            # Folders that the package makes, and that of the data.
            own = os.path.join(folder, path)
            os.makedirs(own, exist_ok=True)
            os.chown(own, self.user.pw_uid, self.user.pw_gid)
        script = f"{'; '.join(binds)}; hostname {name}; ip link set lo up; echo up; exec sleep infinity"
        holder = self._test.background(["unshare", "--net", "--uts", "--mount", "sh", "-ec", script])
        holder.wait_line("up")
        self._holders[name] = holder.pid
        self._ip("link", "add", f"v{number}", "type", "veth", "peer", "name", "eth0", "netns", str(holder.pid))
        self._test.addCleanup(self._ip, "link", "del", f"v{number}")
        self._ip("link", "set", f"v{number}", "master", "br0", "up")
        for words in (f"addr add {NET4}{number}/24 dev eth0", f"addr add {NET6}{number}/64 dev eth0 nodad",
                      "link set eth0 up"):
            self.run(name, ["ip", *words.split()])

    def inside(self, name, argv):
        return ["nsenter", "-t", str(self._holders[name]), "--net", "--uts", "--mount", *argv]

    def run(self, name, argv, **options):
        return self._test.run_program(self.inside(name, argv), **options)

    def start(self, name, argv, env=None):
        return self._test.background(self.inside(name, argv), env=env)

    def path(self, name, path):
        """Where a file of a host lies for the test."""
        if path.startswith("/etc/"):
            return path
        place = next(place for place in PRIVATE if path.startswith(place + "/"))
        return self._test.path("hosts", name, place[1:].replace("/", "-") + path[len(place):])

    def unplug(self, name):
        """The host is dead for all others: nothing is answered, and nobody is told."""
        self._ip("link", "set", f"v{self._number(name)}", "down")

    def plug_in(self, name):
        self._ip("link", "set", f"v{self._number(name)}", "up")

    def _number(self, name):
        return list(self._holders).index(name) + 10

    def write(self, path, text, secret=False):
        """A file in /etc; one that is secret is for the user xrootd alone."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if secret:
            os.chmod(path, 0o600)
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def start_unit(self, name, program, instance):
        """As the package's unit PROGRAM@INSTANCE of stock XRootD does."""
        with open(f"{UNITS}/{program}@.service", encoding="utf-8") as file:
            command = re.search(r"^ExecStart=(.*)$", file.read(), re.M).group(1).replace("%i", instance)
        command = command.replace("/usr/bin/", os.environ.get("XEC_XROOTD", "/usr") + "/bin/")
        user = ["setpriv", f"--reuid={self.user.pw_uid}", f"--regid={self.user.pw_gid}", "--clear-groups"]
        return self.start(name, [*user, *shlex.split(command)], env={"HOME": "/var/spool/xrootd"})

    def wait_port(self, name, port, seconds=30):
        def answers():
            try:
                socket.create_connection((name, port), 1).close()
                return True
            except OSError:
                return False
        self._test.eventually(answers, seconds, f"port {port} of {name} answers")

    def start_gateway(self, name, unit_text, program=""):
        """`unit_text` is what `xec config unit` prints; the program is that of the build if nothing is said."""
        command = re.search(r"^ExecStart=/usr/local/bin/xec (.*)$", unit_text, re.M).group(1)
        env = dict(line.split("=", 1) for line in re.findall(r"^Environment=(.*)$", unit_text, re.M))
        env.update(xectest.daemons.preload_environment())
        return self.start(name, [program or self._test.program("xec"), *shlex.split(command)], env=env)
