# SPDX-License-Identifier: LGPL-3.0-or-later
"""docs/scenarios.md as it is written: each event is made on a real store, then every command of the section is typed, ends with the
code it is said to end with, and prints what it is said to print."""
# waits
# seconds: 1200
import os
import re
import shutil
import time

import everyday
import many_objects
import xectest
import xrootd_cluster

LONG = os.environ.get("XEC_TEST_LONG") == "1"
SHOW = os.environ.get("XEC_TEST_SHOW") == "1"  # prints what commands print, for those who write the page
PAGE = os.path.join(xectest.REPO, "docs", "scenarios.md")
OBJECTS = 24
ENDS = 240        # seconds: what is to be waited for, on a busy machine
CHUNK = "64KiB"
DISK_MIB = 24     # of a disk where a store becomes full
NO_SPACE = 7
# Leases are short, and so are the times after which gateways do something by themselves.
SHORT = """xec.descriptor-interval 1s
xec.tombstone-horizon 10s
xec.operation-limit 5s
xec.metadata-timeout 2s
xec.superseded-grace 1s
xec.clean-interval 1s
xec.inventory-interval 2s
xec.inventory-rate 0
"""
UNITS = "B|KiB|MiB|GiB|TiB|ms|s|min|h|d"


class Step:
    """One command line, the code it ends with, and what it prints."""

    def __init__(self, line):
        command, _, remark = line.removeprefix("$ ").partition("  # ")
        self.command = command.strip()
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
    for part in re.finditer(rf"@SAME@|\.\.\.|\d+\+\d+|(?<![\w.:/])\d[\d.:-]*(?: (?:{UNITS})\b)?", line):
        text += re.escape(line[at:part.start()])
        at = part.end()
        if part.group() == "@SAME@":
            text += r"(\d+) of \1"
        elif part.group() == "...":
            text += ".*"
        elif "+" in part.group():
            text += re.escape(part.group())  # a geometry is what it is
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
            began = time.monotonic()
            done = self.run_program(["bash", "-c", "exec 2>&1; " + command], seconds=ENDS, code=None, cwd=self.dir,
                                    env=self.environment)
            if SHOW:
                print(f"$ {command}    # {done.code}, {time.monotonic() - began:.1f} s\n{done.out}", flush=True)
            missing = all_printed(wanted, done.out)
            return done, (f"exit code {done.code}, not {step.code}" if done.code != step.code else
                          f"not printed in its place: {missing}" if missing is not None else None)
        if step.again:
            self.eventually(lambda: typed()[1] is None, ENDS, f"{where}: {command}")
            return
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
        self.check_reads_all()

    def check_use(self):
        """All can be read, and something can be written."""
        self.check_reads_all()
        name = f"/data/written{len(self.files)}"
        self.files[name] = self.files["/data/005"]
        self.curl("-f", "-T", self.files[name], self.http + name)

    def check_reads_all(self):
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
        self.check_use()

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
            everyday.lose(dirs[2])
            self.check_use()

        def is_mounted():
            os.mkdir(dirs[2])
            os.chown(dirs[2], owner.st_uid, owner.st_gid)
        self.follow("A disk of a box of disks fails", fails, is_mounted)
        self.check_well()

    def test_disks_of_a_server_with_spaces_fail(self):
        """One of the two without the file that says whose the server is, and then the one with it."""
        self.start_cluster(7, spaces=3)
        self.fill()
        server = self.up.servers[2]
        identity = os.readlink(os.path.join(server.data, ".xec", "server"))
        disks = [os.path.join(server.base, f"space.{number}") for number in (1, 2, 3)]
        disks.sort(key=lambda path: identity.startswith(path + "/"))
        self.names.update({"/data/space2": disks[0], "/data/space1": disks[1], "/data/space3": disks[2],
                           "/srv/names": server.data})

        def fails(disk):
            for entry in list(os.scandir(disk)):
                everyday.lose(entry.path)

        def fails_with_identity():
            self.check_well()
            self.names.update({"/data/space2": disks[2], "/data/space3": disks[0]})
            fails(disks[2])
            self.check_use()
        start = lambda: self.up.start(server)
        self.follow("A disk of a data server with data spaces fails", lambda: fails(disks[0]), server.kill, start,
                    fails_with_identity, server.kill, start)
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
            self.check_use()

        def comes_back():
            for server in rack:
                self.up.start(server)
        self.follow("A rack goes", None, goes, comes_back, lambda: self.kill_for_good(3, 4))
        self.check_well()

    def test_servers_are_taken_down(self):
        self.start_cluster(7)
        self.fill()
        server = self.up.servers[2]
        def is_down():
            server.kill()
            self.check_use()
        self.follow("A server is taken down for a while", None, is_down, lambda: self.up.start(server))
        for server in self.up.servers:
            self.names.update({"s03": f"s{server.index:02d}", "root://ds03:1095": server.url})

            def restarted(server=server):
                server.kill()
                self.up.start(server)
            self.follow("All servers are restarted in turn", None, restarted)
        self.check_well()

    def test_the_store_is_nearly_full(self):
        self.enter_mounts()
        self.start_cluster(8, spares=1)
        self.give_disks(self.up, DISK_MIB)
        self.fill()
        os.makedirs(self.path("full"))
        file = self.random_file("new", 1 << 20)
        content = [self.path("full", f"{number:03d}") for number in range(8 * DISK_MIB)]
        for path in content:
            os.link(file, path)
        self.xec("mkdir", "/full")
        self.xec("put", "-q", *content, "/full/", code=NO_SPACE)
        for name in self.xec("ls", "/full").out.split():
            self.files[f"/full/{name}"] = file

        def removed_and_moved():
            del self.files["/full/000"], self.files["/full/001"]
            self.files["/data/moved"] = self.files["/new"] = file
        self.follow("The store is nearly full", None, None, removed_and_moved)
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
