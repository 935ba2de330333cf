# SPDX-License-Identifier: LGPL-3.0-or-later
"""docs/scenarios.md as it is written: each event is made on a real store, then every command of the section is typed, ends with the
code it is said to end with, and prints what it is said to print."""
# waits
# seconds: 1200
import os
import re
import shutil
import time

import many_objects
import xectest
import xrootd_cluster

LONG = os.environ.get("XEC_TEST_LONG") == "1"
SHOW = os.environ.get("XEC_TEST_SHOW") == "1"  # prints what commands print, for those who write the page
PAGE = os.path.join(xectest.REPO, "docs", "scenarios.md")
OBJECTS = 24
ENDS = 240        # seconds: what is to be waited for, on a busy machine
CHUNK = "64KiB"
# Leases are short, and so are the times after which gateways do something by themselves.
SHORT = """xec.descriptor-interval 1s
xec.tombstone-horizon 10s
xec.operation-limit 5s
xec.clean-interval 1s
xec.inventory-interval 2s
xec.inventory-rate 0
"""
UNITS = "B|KiB|MiB|GiB|TiB|ms|s|min|h|d"


class Step:
    """One command line, the code it ends with, and what it prints."""

    def __init__(self, line):
        self.command, _, remark = line.removeprefix("$ ").partition("  # ")
        code = re.search(r"exit code (\d+)", remark)
        self.code = int(code.group(1)) if code else 0
        self.again = remark.startswith("again")
        self.printed = []


def steps_of(block):
    steps = []
    for line in block:
        if line.startswith("$ "):
            steps.append(Step(line))
        else:
            steps[-1].printed.append(" ".join(line.split()))
    return steps


def sections():
    """Heading -> blocks of commands."""
    found, heading, block = {}, None, None
    with open(PAGE, encoding="utf-8") as page:
        for line in page.read().splitlines():
            if line.startswith("#"):
                heading = line.lstrip("# ")
            if line.startswith("    "):
                if block is None:
                    block = []
                    found.setdefault(heading, []).append(block)
                block.append(line[4:])
            else:
                block = None
    return {heading: [steps_of(block) for block in blocks] for heading, blocks in found.items()}


def pattern(line):
    """What a printed line must match: any numbers will do, but the same where the page says N of N."""
    line = re.sub(r"\b(\d+) of \1\b", "@SAME@", line)
    text, at = "", 0
    for part in re.finditer(rf"@SAME@|\.\.\.|(?<![\w.:/])\d[\d.:-]*(?: (?:{UNITS})\b)?", line):
        text += re.escape(line[at:part.start()])
        at = part.end()
        if part.group() == "@SAME@":
            text += r"(\d+) of \1"
        elif part.group() == "...":
            text += ".*"
        else:
            text += rf"\d[\d.:-]*(?: (?:{UNITS}))?"
    return text + re.escape(line[at:])


def all_printed(wanted, out):
    """None, or the line of the page that is not printed in its place. Others may come where the page has "...", and before and
    after all."""
    lines = [" ".join(line.split()) for line in out.splitlines()]
    at, anywhere = 0, True
    for want in wanted:
        if want == "...":
            anywhere = True
            continue
        matches = [i for i in range(at, len(lines)) if re.fullmatch(pattern(want), lines[i])]
        if not matches or (not anywhere and matches[0] != at):
            return want
        at, anywhere = matches[0] + 1, False
    return None


class Gateway(xrootd_cluster.Gateway):
    """A gateway that is started with the operator's configuration, and nothing else."""

    def command(self):
        user = ["--user", self.cluster.user.entry.pw_name] if self.cluster.user.entry else []
        return [self.cluster.xec(), "serve", "-c", self.cluster.conf, *user]


class Scenarios(many_objects.ObjectsTest):
    def setUp(self):
        super().setUp()
        self.conf = self.path("xec.conf")
        self.names = {}  # in the page -> here
        self.environment = {"PATH": os.path.dirname(self.program("xec")) + ":" + os.environ["PATH"]}

    def write_conf(self, lines):
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n" + SHORT)
        os.chmod(self.conf, 0o644)

    def start_cluster(self, members, spares=0, **options):
        """A store on the first servers of a cluster, behind one gateway."""
        self.up = self.cluster(servers=members + spares, redirector=False, **options)
        self.up.conf = self.conf
        self.gateway = Gateway(self.up, 1)
        self.addCleanup(self.gateway.kill)
        self.configure(self.up.servers[:members], "4+2")
        self.names.update({f"root://ds{server.index:02d}:1095": server.url for server in self.up.servers})
        self.http = self.gateway.http_url

    def configure(self, servers, geometry):
        """Writes xec.conf, and starts the gateway with it."""
        self.gateway.kill()
        self.write_conf([f"xec.server {server.url}" for server in servers] + [
            f"xec.geometry {geometry}", f"xec.chunk-size {CHUNK}", f"xec.port {self.gateway.port}",
            f"xec.http-port {self.gateway.http_port}", f"xec.state {os.path.join(self.gateway.base, 'state')}"])
        self.up.start_gateway(self.gateway, time.monotonic() + xectest.READY_SECONDS)

    def fill(self):
        self.files = self.put_objects(self.xec, OBJECTS)

    def xec(self, command, *arguments, **more):
        return self.run_program([self.program("xec"), command, "-c", self.conf, *arguments], **more)

    def here(self, line):
        if not self.names:
            return line
        return re.sub("|".join(map(re.escape, sorted(self.names, key=len, reverse=True))), lambda name: self.names[name.group()],
                      line)

    def type(self, step, where):
        command = self.here(step.command)
        wanted = [self.here(line) for line in step.printed]

        def typed():
            done = self.run_program(["bash", "-c", "exec 2>&1; " + command], seconds=ENDS, code=None, cwd=self.dir,
                                    env=self.environment)
            if SHOW:
                print(f"$ {command}    # {done.code}\n{done.out}", flush=True)
            missing = all_printed(wanted, done.out)
            return done, (f"exit code {done.code}, not {step.code}" if done.code != step.code else
                          f"not printed in its place: {missing}" if missing is not None else None)
        done, problem = typed()
        if step.again:
            deadline = time.monotonic() + ENDS
            while problem and time.monotonic() < deadline:
                done, problem = typed()
        self.assertIsNone(problem, f"{where}: {command}\n{done.out}")

    def follow(self, heading, *events):
        """Before each block of the section one thing happens; None: nothing."""
        blocks = sections()[heading]
        self.assertEqual(len(blocks), len(events), f"{heading}: its blocks")
        for event, block in zip(events, blocks):
            if event:
                event()
            for step in block:
                if "root://ds" in self.here(step.command):
                    continue  # a server more than this test has
                self.type(step, heading)

    def check_well(self):
        """Everything has its full redundancy, as every byte that is read says, and reads right through the gateway."""
        census = self.census(self.xec, "--deep")
        self.assertEqual((census["objects"], census["full"]), (len(self.files), len(self.files)), census["names"][:3])
        for name, file in self.files.items():
            self.assertEqual(self.curl("-f", self.http + name, binary=True).out, self.content(file), name)

    def comes_empty(self, server):
        """It is there again, with an empty disk."""
        self.up.user.give(server.data)
        self.up.start(server)

    def kill_for_good(self, *numbers):
        for number in numbers:
            self.up.servers[number - 1].kill()
            shutil.rmtree(self.up.servers[number - 1].data)

    def test_a_disk_of_a_box_fails(self):
        dirs = [self.path("data", f"d{number:02d}") for number in range(1, 9)]
        store = self.serve(dirs=dirs, geometry="4+2", chunk_size=CHUNK, start=False, options=["-c", self.conf])
        self.write_conf([*(f"xec.data {path}" for path in dirs), f"xec.port {store.port}",
                         f"xec.state {os.path.dirname(store.state)}"])
        self.names["/data/d03"] = dirs[2]
        store.start()
        self.http = store.http
        self.fill()
        owner = os.stat(dirs[2])

        def fails():
            os.rename(dirs[2], dirs[2] + ".gone")  # a gateway writes there, so it cannot be emptied
            shutil.rmtree(dirs[2] + ".gone")

        def is_replaced():
            os.mkdir(dirs[2])
            os.chown(dirs[2], owner.st_uid, owner.st_gid)
        self.follow("A disk of a box of disks fails", fails, is_replaced)
        self.check_well()

    def test_a_disk_of_a_server_with_spaces_fails(self):
        self.start_cluster(7, spaces=3)
        self.fill()
        server = self.up.servers[2]
        identity = os.readlink(os.path.join(server.data, ".xec", "server"))
        disks = [os.path.join(server.base, f"space.{number}") for number in (1, 2, 3)]
        disk = next(path for path in disks if not identity.startswith(path + "/"))
        self.names.update({"/data/space2": disk, "/srv/names": server.data})

        def fails():
            for entry in os.scandir(disk):
                shutil.rmtree(entry.path)
        self.follow("A disk of a data server with data spaces fails", fails, server.kill, lambda: self.up.start(server))
        self.check_well()

    def test_a_server_fails(self):
        self.start_cluster(9, spares=1)
        self.fill()
        self.names["root://ds20:1095"] = self.up.servers[9].url
        self.follow("A server fails for good", lambda: self.kill_for_good(3))
        self.follow("A new one has its address", lambda: self.comes_empty(self.up.servers[2]))
        self.check_well()
        self.kill_for_good(3)
        self.follow("A new one has another address", None)
        self.check_well()
        self.up.servers[9].kill()
        self.follow("There is no new one", None, None)
        self.check_well()

    def test_a_rack_goes(self):
        self.start_cluster(8, spares=2)
        self.names.update({"root://ds21:1095": self.up.servers[8].url, "root://ds22:1095": self.up.servers[9].url})
        rack = self.up.servers[2:4]

        def goes():
            self.fill()  # once servers have labels
            for server in rack:
                server.kill()

        def comes_back():
            for server in rack:
                self.up.start(server)
        self.follow("A rack goes", None, goes, comes_back, lambda: self.kill_for_good(3, 4))
        self.check_well()

    def test_servers_are_taken_down(self):
        self.start_cluster(7)
        self.fill()
        server = self.up.servers[2]
        self.follow("A server is taken down for a while", None, server.kill, lambda: self.up.start(server))
        for server in self.up.servers:
            self.names.update({"s03": f"s{server.index:02d}", "root://ds03:1095": server.url})

            def restarted(server=server):
                server.kill()
                self.up.start(server)
            self.follow("All servers are restarted in turn", None, restarted)
        self.check_well()

    def test_a_server_moves(self):
        self.start_cluster(7, spares=1)
        self.fill()
        before, after = self.up.servers[2], self.up.servers[7]
        self.names["root://ds23:1095"] = after.url

        def moves():
            before.kill()
            after.kill()
            shutil.rmtree(after.data)
            os.rename(before.data, after.data)
            self.up.start(after)
        self.follow("A server is renamed or moves", moves)
        self.check_well()

    def test_the_store_grows(self):
        """Without XEC_TEST_LONG=1 by one server where the page adds six, and by another one where it adds two."""
        more = 8 if LONG else 2
        self.start_cluster(6, spares=more)
        self.fill()
        urls = [server.url for server in self.up.servers]
        if LONG:
            added, geometry = self.up.servers[:12], "8+2"
        else:
            self.names = {"root://ds07:1095": urls[6], "root://ds13:1095": urls[7], "s13": "s08", "8+2": "5+2"}
            added, geometry = self.up.servers[:7], "5+2"
        self.files["/new"] = self.random_file("new", 1_000_000)
        self.follow("The store grows from 6 servers to 12, then to 14", None, lambda: self.configure(added, geometry), None)
        self.check_well()
        self.assertEqual(len(self.xec("server", "list").out.splitlines()), 6 + more + 1)

    def test_every_section_is_followed(self):
        with open(__file__, encoding="utf-8") as file:
            own = file.read()
        for heading in sections():
            self.assertIn(f'follow("{heading}"', own)


if __name__ == "__main__":
    xectest.main()
