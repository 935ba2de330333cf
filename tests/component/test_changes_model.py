# SPDX-License-Identifier: LGPL-3.0-or-later
"""Random changes of files by two handles, beside a model of bytes in memory, by root://, the C interface and a mount. On
the way the gateway, the process or the mount is killed, mostly in the middle of an operation: then each file is the old
one or the new one, whole. XEC_TEST_LONG=1 takes 50,000 operations and 100 kills of each, XEC_TEST_SEED another sequence."""
# seconds: 3600
import base64
import collections
import json
import os
import random
import select
import signal
import subprocess
import time

import change_model
import fuse_mounts
import xectest

LONG = os.environ.get("XEC_TEST_LONG") == "1"
OPERATIONS, KILLS = (50_000, 100) if LONG else (1_500, 8)
SEED = int(os.environ.get("XEC_TEST_SEED", "1"))
CLIENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "change_client.py")


class Client:
    """A process with one handle (change_client.py)."""

    def __init__(self, test, *words):
        self.process = subprocess.Popen(["/usr/bin/python3", CLIENT, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True, env={**os.environ, "XRD_CONNECTIONRETRY": "1"})
        test.addCleanup(self.close)

    def begin(self, method, *arguments):
        self.process.stdin.write(json.dumps([method, *arguments]) + "\n")
        self.process.stdin.flush()

    def answers_within(self, seconds):
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def end(self):
        """Whether it was done and what it answered; (None, None): it has died."""
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            return None, None
        word, value = json.loads(line)
        return word == "ok", base64.b64decode(value) if word == "ok" and isinstance(value, str) else value

    def ask(self, method, *arguments):
        self.begin(method, *arguments)
        return self.end()

    def kill(self):
        """What it has answered can still be read."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def close(self):
        self.kill()
        self.process.stdin.close()
        self.process.stdout.close()


class ByRoot:
    """The gateway is killed, and with it the clients: XRootD's would come back by themselves."""
    model, model_options = change_model.Separate, (("close", ), )  # an upload is there once it is closed

    def __init__(self, test):
        self.test = test
        self.store = test.serve(geometry="2+1", chunk_size="8KiB")

    def client(self):
        return Client(self.test, "root", self.store.url)

    def kill(self):
        self.store.kill()

    def back(self):
        self.store.start()

    def drop(self, client):
        """There is nothing but a close, which may still commit."""
        return client.ask("close")[0]


class ByC:
    """The processes of both handles are killed."""
    model, model_options = change_model.Separate, ()

    def __init__(self, test):
        self.test = test
        directories = [test.path(f"d{number}") for number in range(3)]
        for directory in directories:
            os.mkdir(directory)
        lines = [*(f"xec.data {directory}" for directory in directories), "xec.geometry 2+1", "xec.chunk-size 8KiB",
                 f"xec.scratch {test.path('scratch')}"]
        with open(test.path("xec.conf"), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.library = test.program("libxec.so")

    def client(self):
        client = Client(self.test, "c", self.library, self.test.path("xec.conf"))
        client.ask("content", "/none")  # the store is there before the next one opens it
        return client

    def kill(self):
        pass

    def back(self):
        pass

    def drop(self, client):
        client.ask("drop")
        return False


class ByMount:
    model, model_options = change_model.Shared, ()

    def __init__(self, test):
        self.test, self.path = test, test.path("mnt")
        os.mkdir(self.path)
        self.back()
        test.addCleanup(test.run_program, ["umount", "-l", self.path])

    def back(self):
        directories = (f"--data={self.test.path(f'd{number}')}" for number in range(3))
        self.process = self.test.background([self.test.program("xec"), "mount", *directories, "--geometry=2+1", "--chunk-size=8KiB",
                                             "-f", self.path])
        self.process.wait_line("ready: ")

    def client(self):
        return Client(self.test, "files", self.path)

    def kill(self):
        self.process.kill()
        self.test.run_program(["umount", "-l", self.path])


class ModelTest(xectest.TestCase):
    def run_model(self, door):
        print(f"seed {SEED}", flush=True)
        self.door, self.random = door, random.Random(SEED)
        self.model = door.model(self.random, *door.model_options)
        self.clients = [door.client() for _ in change_model.HANDLES]
        self.counts, self.cut = collections.Counter(), collections.Counter()
        self.took = {}  # the last one of each kind, in seconds
        self.found = {}  # after each kill, of names that nobody has used since
        kills = set(self.random.sample(range(50, OPERATIONS), KILLS))
        begun = time.monotonic()
        for number in range(OPERATIONS):
            handle = self.random.choice(change_model.HANDLES)
            method, arguments = self.model.choose(handle)
            try:
                if number in kills:
                    self.kill_in(handle, method, arguments)
                else:
                    kind = (method, self.model.commits(handle, method))
                    started = time.monotonic()
                    answer = self.clients[handle].ask(method, *arguments)
                    self.took[kind] = time.monotonic() - started
                    self.done(handle, method, arguments, *answer)
            except AssertionError as error:
                edit = self.model.open[handle]
                self.fail(f"seed {SEED}, operation {number}, {method} {arguments} by handle {handle} of "
                          f"{edit and (edit.name, len(edit.data))}: {error}")
        for name in self.model.names:
            self.done(0, "content", (name, ), *self.clients[0].ask("content", name))
        self.assertTrue(self.contents(self.found) == self.found, "what was found after a kill has changed since")
        print(f"{OPERATIONS} operations in {time.monotonic() - begun:.0f} s: {dict(self.counts)}; killed in {dict(self.cut)}", flush=True)

    def done(self, handle, method, arguments, ok, value):
        had = self.model.open[handle]
        self.assertIsNotNone(ok, "the client has died")
        self.counts[method if ok else method + " refused"] += 1
        self.model.answered(handle, method, arguments, ok, value)
        if not ok and had is not None and self.model.open[handle] is None:
            self.refused(handle, method, had)

    def refused(self, handle, method, had):
        """Its handle is given up, with what it had."""
        if method == "close" or not self.door.drop(self.clients[handle]):
            return
        self.model.open[handle] = had
        self.model.answered(handle, "close", (), True, None)

    def names(self):
        """As the model has them, without a change that is not committed."""
        return self.model.worlds(0, "size", ())[0]

    def kill_in(self, handle, method, arguments):
        """Mostly in what commits, if there is anything to commit."""
        end = self.random.choice(("sync", "close"))
        if self.model.commits(handle, end) and self.random.randrange(4):
            method, arguments = end, ()
        client = self.clients[handle]
        worlds = self.model.worlds(handle, method, arguments)
        took = self.took.get((method, self.model.commits(handle, method)), 0)
        client.begin(method, *arguments)
        client.answers_within(self.random.uniform(0, took))
        self.door.kill()
        for one in self.clients:
            one.kill()
        ok, value = client.end()
        if ok:
            self.done(handle, method, arguments, ok, value)
            worlds = [self.names()]
        for one in self.clients:
            one.close()
        self.door.back()
        self.clients = [self.door.client() for _ in change_model.HANDLES]
        found = self.contents(self.model.names)
        old = self.model.died(worlds, {name: data for name, data in found.items() if data is not None})
        self.cut[method + (", done" if ok else ", old" if old else ", new")] += 1
        self.found.update(found)
        self.model.begin_anew()

    def contents(self, names):
        """None: it is not there."""
        found = {name: self.clients[0].ask("content", name) for name in names}
        for name, (ok, value) in found.items():
            self.assertTrue(ok, f"{name}: {value}")
        return {name: value for name, (_, value) in found.items()}


class Processes(ModelTest):
    def test_by_root(self):
        self.run_model(ByRoot(self))

    def test_by_c(self):
        if os.environ.get("XEC_PRESET") in ("asan", "tsan"):
            self.skipTest("a sanitizer's library cannot be loaded into Debian's python")
        self.run_model(ByC(self))


class Mount(ModelTest, fuse_mounts.TestCase):
    def test_by_mount(self):
        self.run_model(ByMount(self))


if __name__ == "__main__":
    xectest.main()
