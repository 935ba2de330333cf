# SPDX-License-Identifier: LGPL-3.0-or-later
"""A process with a stale list of members answers right or not at all (docs/protocol/members.md).

Every list of members is compared with one that is right: what one gateway does the other must see, and "not found" must never
be said of what the other has.
"""
# waits
import collections
import contextlib
import http.client
import json
import os
import signal
import subprocess
import threading

import xectest
from members import CANNOT_TELL, MembersTest, NOT_FOUND, OK, Gateway, content

EXIT_NOT_FOUND, EXIT_CONFLICT = 3, 8


class Members(MembersTest):
    # The configuration.

    def test_configuration_lists_other_servers_than_the_store_has(self):
        whole = self.start(servers=9, members=7)
        free, nobody = self.up.servers[7], f"root://{xectest.HOST}:{self.free_port()}"
        with self.subTest("fewer"):
            self.compare(whole, self.gateway(self.urls((2, 4, 5))), "/fewer")
        with self.subTest("another order, and one at an address where nobody is"):
            self.compare(whole, self.gateway([*self.urls((7, 6, 5, 4, 3, 2)), nobody]), "/order")
        with self.subTest("directly"):
            self.put(whole, "/direct")
            got = self.xec(self.urls((6, 1)), "cat", "/direct")
            self.assertEqual((got.code, got.out.encode()), (0, content("/direct")), got)
            self.assertEqual(self.xec(self.urls((6, 1)), "cat", "/missing").code, EXIT_NOT_FOUND)
        with self.subTest("a server of another store"):
            other = Gateway(self.up, 90, [free.url, self.up.servers[8].url])
            made = self.run_program([self.up.xec(), "mkdir", *other.options(), "--geometry", "1+1", "/there"])
            self.assertEqual(made.code, 0, made)
            for servers in ((1, 2, 3, 4, 5, 6, 8), (8, 1, 2, 3, 4, 5, 6)):
                refused = self.xec(self.urls(servers), "stat", "/direct")
                self.assertEqual(refused.code, EXIT_CONFLICT, refused)
                self.assertIn("belongs to store", refused.err)
        with self.subTest("a member's address, by the descriptor, is now that of another store"):
            self.up.servers[2].kill()
            with_stranger = self.changed(1).replace(f" {self.up.servers[2].url} ", f" {free.url} ")
            numbers = (1, 2, 4, 5, 6, 7)
            before = self.descriptor()
            self.store_on(numbers, with_stranger)
            found = self.xec(self.urls(numbers), "cat", "/direct")
            self.assertEqual((found.code, found.out.encode()), (0, content("/direct")), found)
            self.store_on(numbers, before)

    def test_members_exchange_their_addresses(self):
        before = self.start(servers=5, members=5)
        names = [f"/a/{number}" for number in range(12)]
        for name in names:
            self.put(before, name)
        one, other = self.up.servers[1], self.up.servers[3]
        for server in (one, other):
            server.kill()
        os.rename(one.data, one.data + ".aside")
        os.rename(other.data, one.data)
        os.rename(one.data + ".aside", other.data)
        for server in (one, other):
            self.up.start(server)
        for name in names:
            # Two of five are not who they were: it may not be able to tell, but nothing may be wrong or missing.
            status, got = before.ask("GET", name)
            self.assertIn(status, OK + CANNOT_TELL, name)
            self.assertTrue(status in CANNOT_TELL or got == content(name), name)
            self.assertIn(before.ask("GET", name + "x")[0], NOT_FOUND + CANNOT_TELL)
        fresh = self.gateway(self.urls(range(1, 6)))
        for name in names:
            self.get(fresh, name)
        self.get(fresh, "/a/x", NOT_FOUND)

    # The members change.

    def test_members_change_while_gateways_work(self):
        """One joins, one leaves and one takes the place of a lost one, while two gateways serve and a third is asleep."""
        first = self.start(servers=6, members=5)
        old = self.urls(range(1, 6))
        second, asleep = self.gateway(old), self.gateway(old)
        for number in range(30):
            self.put(first, f"/kept/{number}")
        self.get(asleep, "/kept/3")
        # It is in the middle of an upload.
        upload = http.client.HTTPConnection(xectest.HOST, asleep.http_port, timeout=xectest.CLIENT_SECONDS)
        body = content("/slow")
        upload.putrequest("PUT", "/slow")
        upload.putheader("Content-Length", str(len(body)))
        upload.endheaders()
        upload.send(body[:5000])
        self.eventually(lambda: "/slow" in asleep.said() or asleep.ask("GET", "/kept/3")[0] in OK, 30, "it works")
        os.kill(asleep.pid, signal.SIGSTOP)
        stop, problems, told = threading.Event(), [], collections.Counter()
        workers = [threading.Thread(target=self.work, args=(gateway, f"work{number}", stop, problems, told), daemon=True)
                   for number, gateway in enumerate((first, second))]
        for worker in workers:
            worker.start()
        self.addCleanup(stop.set)
        new = self.up.servers[5].url
        self.assertIn("s06 is a member, and home of names", self.change(old, "add", new))
        self.assertEqual(self.roles(old), {f"s{number:02d}": "full" for number in range(1, 7)})
        refused = self.xec(old, "server", "drain", "s02")
        self.assertEqual(refused.code, EXIT_CONFLICT, refused)
        self.assertIn("one may leave in", refused.err)
        drain = ("drain", "s02", "--tombstone-horizon", "10s", "--operation-limit", "5s")
        self.eventually(lambda: self.xec(old, "server", *drain, "--dry-run").code == 0, 60, "a member may leave")
        self.assertIn("s02 is empty", self.change(old, *drain))
        self.assertIn("s02 is no member any more", self.change(old, "remove", "s02"))
        self.assertEqual(sorted(self.roles(old)), ["s01", "s03", "s04", "s05", "s06"])
        self.up.servers[1].kill()
        stop.set()
        for worker in workers:
            worker.join()
        self.assertEqual(problems, [])
        self.assertGreater(told["ended"], 100)
        self.assertLessEqual(told["again"], max(8, told["ended"] // 100), told)
        for number in range(30):
            self.get(first, f"/kept/{number}")
        # Nothing of it is wrong with one that slept through all that.
        os.kill(asleep.pid, signal.SIGCONT)
        for number in range(30):
            status, got = asleep.ask("GET", f"/kept/{number}")
            self.assertTrue(status in CANNOT_TELL or (status in OK and got == content(f"/kept/{number}")), (number, status))
            self.assertIn(asleep.ask("GET", f"/missing/{number}")[0], NOT_FOUND + CANNOT_TELL)
        upload.send(body[5000:])
        with contextlib.suppress(http.client.RemoteDisconnected):
            # Where the close fails, XRootD may hang up instead of answering.
            answer = upload.getresponse()
            self.assertIn(answer.status, CANNOT_TELL, answer.read())
        self.get(first, "/slow", NOT_FOUND)
        self.spoken_soon(asleep, "/missing", NOT_FOUND)
        self.compare(first, asleep, "/after")
        census = self.xec(old, "health", "--json")
        counted = json.loads(census.out)["census"]
        self.assertEqual((counted["full"], counted["thin"]), (counted["objects"], 0), counted["names"][:3])
        self.compare(second, self.gateway(self.urls((1, 3, 4, 5, 6))), "/fresh")

    def test_a_member_is_at_another_address(self):
        """With its disk, and with an empty one in place of a lost one."""
        gateway = self.start(servers=7, members=5)
        servers = self.urls(range(1, 6))
        names = [f"/kept/{number}" for number in range(20)]
        for name in names:
            self.put(gateway, name)
        moved, lost, there, empty = (self.up.servers[number - 1] for number in (2, 3, 6, 7))
        refused = self.xec(servers, "server", "replace", "s03", "--with", empty.url)
        self.assertEqual(refused.code, EXIT_CONFLICT, refused)
        self.assertIn(f"s03 still answers, at {lost.url}: stop it first", refused.err)
        for server in (moved, there):
            server.kill()
        os.rename(there.data, there.data + ".aside")
        os.rename(moved.data, there.data)
        self.up.start(there)
        stop, problems, told = threading.Event(), [], collections.Counter()
        worker = threading.Thread(target=self.work, args=(gateway, "work", stop, problems, told), daemon=True)
        worker.start()
        self.addCleanup(stop.set)
        self.assertIn(f"s02 is found at {there.url}", self.change(servers, "replace", "s02", "--with", there.url))
        lost.kill()
        said = self.change(servers, "replace", "s03", "--with", empty.url)
        self.assertIn(f"{empty.url} takes the place of s03", said)
        self.assertIn("objects have their full redundancy", said)
        stop.set()
        worker.join()
        self.assertEqual(problems, [])
        listed = json.loads(self.xec(servers, "server", "list", "--json").out)["members"]
        self.assertEqual({member["server"]: member["address"] for member in listed},
                         dict(zip(("s01", "s02", "s03", "s04", "s05"), self.urls((1, 6, 7, 4, 5)))))
        self.up.servers[3].kill()
        for name in names:
            self.get(gateway, name)
        self.compare(gateway, self.gateway(self.urls((1, 5, 6, 7))), "/after")
        # What is where it was before is nobody's.
        self.up.start(lost)
        self.compare(gateway, self.gateway(self.urls((1, 5, 6, 7))), "/later")

    def test_a_change_is_undone_and_begun_again(self):
        gateway = self.start(servers=6, members=5)
        servers = self.urls(range(1, 6))
        self.put(gateway, "/a")
        begun = subprocess.Popen([self.up.xec(), "server", "add", *Gateway(self.up, 91, servers).options(),
                                  self.up.servers[5].url], stdout=subprocess.DEVNULL)
        self.eventually(lambda: self.roles(servers).get("s06") == "joining", 30, "it joins")
        begun.kill()
        begun.wait()
        self.assertIn("the change is undone", self.change(servers, "undo"))
        self.assertEqual(self.roles(servers)["s06"], "emptying")
        self.compare(gateway, self.gateway(servers), "/undone")

    def test_the_descriptor_cannot_be_read_again(self):
        gateway = self.start(servers=5, members=5)
        self.put(gateway, "/a")
        with self.subTest("it is gone from most servers"):
            for number in (1, 3, 5):
                os.rename(self.descriptor_path(number), self.descriptor_path(number) + ".away")
            self.silent_soon(gateway, "/a")
            self.silent(gateway, ["/a", "/missing"])
            self.assertRegex(gateway.said(), r"cannot tell: for \d+ s fewer than 3 of the 5 data servers have shown the store "
                                             r"descriptor, so the members may have been changed; retry")
            os.rename(self.descriptor_path(1) + ".away", self.descriptor_path(1))
            self.spoken_soon(gateway, "/a", OK)
            self.get(gateway, "/missing", NOT_FOUND)
            self.put(gateway, "/a")
        with self.subTest("most servers hang"):
            for number in (2, 3, 4):
                self.up.servers[number - 1].freeze()
            self.silent_soon(gateway, "/a")
            for number in (2, 3, 4):
                self.up.servers[number - 1].thaw()
            self.spoken_soon(gateway, "/a", OK)
            self.get(gateway, "/missing", NOT_FOUND)
        with self.subTest("two descriptors of one epoch"):
            self.write(self.descriptor_path(3), self.changed(1, members=(1, 2, 3, 4)))
            self.silent_soon(gateway, "/a")
            refused = self.xec(self.urls(range(1, 6)), "cat", "/a")
            self.assertEqual(refused.code, EXIT_CONFLICT, refused)
            self.assertIn("shows another descriptor of store", refused.err)


if __name__ == "__main__":
    xectest.main()
