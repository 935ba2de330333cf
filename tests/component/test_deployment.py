# SPDX-License-Identifier: LGPL-3.0-or-later
"""docs/deployment.md: its ten commands, typed as they stand. What reaches other hosts (ssh, scp, systemctl, apt-get) is played
by programs of the test, which find the hosts of hosts.py and start what the units say."""
import os
import re
import threading

import hosts
import xectest

DOCUMENT = os.path.join(xectest.REPO, "docs", "deployment.md")
DISKS = [f"disk{number:02}.example.org" for number in range(1, 13)]
GATEWAYS = [f"gateway{number}.example.org" for number in (1, 2, 3)]
REDIRECTOR = "redirector.example.org"

SSH = """#!/bin/bash
host=${1#root@}; shift
exec $(< "$HOLDERS/$host") env HOST="$host" PATH="$PLAYED:$PATH" bash -c "$*"
"""
SCP = """#!/bin/bash
# All hosts have one /etc, where daemons read what came for the host before: -u leaves that alone.
flags=-u; [[ $1 == -r ]] && flags=-ur && shift
target=${!#}; host=${target%%:*}; host=${host#root@}
mapfile -t sources < <(realpath -e -- "${@:1:$#-1}")
exec $(< "$HOLDERS/$host") cp $flags "${sources[@]}" "${target#*:}"
"""
# What is wanted, one line each; the test starts it.
SYSTEMCTL = """#!/bin/bash
[[ "$1 $2" == "enable --now" ]] || exit 1
for unit in "${@:3}"; do echo "$HOST $unit" > "$WANTED"; done
"""


def commands():
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read()
    section = re.search(r"^## Three gateways.*?$(.*?)^The last one says", text, re.M | re.S).group(1)
    return re.findall(r"^    (.*)$", section, re.M)


class Deployment(xectest.TestCase):
    def play(self, name, text):
        path = self.path("played", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, 0o755)

    def start_wanted(self, pipe):
        """Starts units as they are wanted, until the pipe is closed."""
        with open(pipe, encoding="utf-8") as lines:
            for line in lines:
                host, unit = line.split()
                if unit == "xec":
                    with open(self.site.path(host, "/etc/systemd/system/xec.service"), encoding="utf-8") as file:
                        self.gateways[host] = self.site.start_gateway(host, file.read(), "/usr/local/bin/xec")
                else:
                    self.site.start_unit(host, *unit.split("@"))

    def test_ten_commands(self):
        self.assertEqual(len(commands()), 10)
        self.site = hosts.Hosts(self)
        os.makedirs(self.path("holders"))
        for name in (*DISKS, REDIRECTOR, *GATEWAYS):
            self.site.add(name)
            with open(self.path("holders", name), "w", encoding="ascii") as file:
                file.write(" ".join(self.site.inside(name, [])))
        os.makedirs(self.path("played"))
        self.play("ssh", SSH)
        self.play("scp", SCP)
        self.play("systemctl", SYSTEMCTL)
        self.play("apt-get", "#!/bin/sh\nexit 0\n")
        pipe, self.gateways = self.path("wanted"), {}
        os.mkfifo(pipe)
        starter = threading.Thread(target=self.start_wanted, args=(pipe,), daemon=True)
        starter.start()
        # Held open: each line comes from a program of its own.
        with open(pipe, "w", encoding="utf-8"):
            self.type_commands(pipe)
        starter.join(30)
        self.use()

    def type_commands(self, pipe):
        os.symlink(os.path.dirname(xectest.build_dir()), self.path("build"))
        *first, last = commands()
        env = {"PATH": f"{self.path('played')}:{os.environ['PATH']}", "PLAYED": self.path("played"),
               "HOLDERS": self.path("holders"), "WANTED": pipe}
        # An operator sees that the servers are there before he asks for their health.
        self.run_program(["bash", "-euo", "pipefail", "-c", "\n".join(first)], env=env, cwd=self.dir, seconds=300)
        for name in DISKS:
            self.site.wait_port(name, 1095)
        self.eventually(lambda: len(self.gateways) == len(GATEWAYS), 30, "all gateways are started")
        for gateway in self.gateways.values():
            gateway.wait_line("ready")
        health = self.run_program(["bash", "-euo", "pipefail", "-c", last], env=env, cwd=self.dir)
        self.assertEqual(len(re.findall(r"^s\d+ .* up ", health.out, re.M)), 12, health)

    def use(self):
        url = f"root://{REDIRECTOR}/"
        self.eventually(lambda: self.xrdfs(url, "stat", "/", code=None, env=xectest.QUICK_CLIENT).code == 0, 60,
                        "the redirector has gateways")
        file = self.random_file("file", 20_000_000)
        self.xrdcp(file, url + "/first")
        for name in GATEWAYS:
            self.xrdcp("-f", f"root://{name}//first", self.path("back"))
            self.assert_same(file, self.path("back"))
        # Data servers let in nobody without the key.
        self.assertIn("Auth failed", self.xrdfs(f"root://{DISKS[0]}:1095", "ls", "/", code=None).err)


if __name__ == "__main__":
    xectest.main()
