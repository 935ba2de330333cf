# SPDX-License-Identifier: LGPL-3.0-or-later
"""Disks fill up: new objects go where there is room, a nearly full store refuses uploads and nothing else, and archives move
to servers that were added."""
# seconds: 1200
import json
import os
import subprocess

import everyday
import xectest

MIB = 1 << 20
NO_SPACE = 7
OPTIONS = ["--descriptor-interval", "1s", "--metadata-timeout", "2s", "--superseded-grace", "1s"]


class Balance(everyday.EverydayTest):
    def setUp(self):
        super().setUp()
        self.enter_mounts()
        self.made = 0

    def small_disk(self, mebibytes):
        """A directory that is to be made, on a tmpfs of its own."""
        self.made += 1
        path = self.path(f"disk{self.made:02d}")
        os.makedirs(path)
        self.run_program(["mount", "-t", "tmpfs", "-o", f"size={mebibytes}m,mode=777", "none", path])
        self.addCleanup(self.run_program, ["umount", "-l", path])
        return os.path.join(path, "data")

    def xec_on(self, dirs):
        words = [word for path in dirs for word in ("--data", path)]
        return lambda command, *arguments, **more: self.run_program(
            [self.program("xec"), command, *words, *OPTIONS, *arguments], **{"seconds": 300, **more})

    def full_part(self, path):
        now = os.statvfs(path)
        return (now.f_blocks - now.f_bavail) / now.f_blocks

    def fill(self, xec, dirs, part, size):
        """Puts objects until so much of all disks together is used; answers name -> file."""
        objects = {}
        os.makedirs(self.path("in"), exist_ok=True)
        while sum(map(self.full_part, dirs)) / len(dirs) < part:
            name = f"/o{len(objects):03d}"
            objects[name] = self.random_file("in" + name, size, len(objects) + 1)
            xec("put", "-q", objects[name], name)
        return objects

    def check_objects(self, xec, objects):
        for name, file in objects.items():
            self.assertEqual(xec("cat", name, binary=True).out, self.content(file), name)
        census = json.loads(xec("health", "--json", "--deep", code=None).out)["census"]
        self.assertEqual((census["objects"], census["full"]), (len(objects), len(objects)), census["names"][:3])

    def test_four_empty_servers_are_filled(self):
        dirs = [self.small_disk(48) for _ in range(12)]
        store = self.xec_on(dirs)
        store("mkdir", "/made", "--geometry", "8+2", "--chunk-size", "64KiB")
        objects = self.fill(store, dirs, 0.70, 3 * MIB)
        for _ in range(4):
            new = self.small_disk(48)
            os.makedirs(new)
            store("server", "add", new)
            dirs = [*dirs, new]
            store = self.xec_on(dirs)
        before = [self.full_part(path) for path in dirs]
        mean = sum(before) / len(before)
        disk = 48 * MIB
        least = disk * max(sum(max(0, part - mean - 0.05) for part in before),
                           sum(max(0, mean - 0.05 - part) for part in before))
        self.assertLess(max(before[12:]), 0.05, "they are empty but for names")

        planned = json.loads(store("balance", "--dry-run", "--json").out)
        self.assertTrue(planned["balanced"], planned)
        self.assertEqual([self.full_part(path) for path in dirs], before)
        said = json.loads(store("balance", "--json").out)
        self.assertTrue(said["balanced"], said)
        self.assertEqual((said["not_done"], said["skipped"]), ([], 0))
        after = [self.full_part(path) for path in dirs]
        now = sum(after) / len(after)
        print(f"balance: {min(before):.3f}..{max(before):.3f} became {min(after):.3f}..{max(after):.3f}, mean {now:.3f}; "
              f"{said['moved_bytes'] / least:.3f} times the least moved")
        for path, part in zip(dirs, after):
            self.assertAlmostEqual(part, now, delta=0.055, msg=path)
        self.assertLess(said["moved_bytes"], 1.2 * least)
        arrived = disk * sum(part - was for part, was in zip(after[12:], before[12:]))
        self.assertLess(arrived, 1.2 * least)
        self.assertAlmostEqual(now, mean, delta=0.02, msg="what was moved is gone where it was")
        self.check_objects(store, objects)
        again = json.loads(store("balance", "--json").out)
        self.assertEqual((again["balanced"], again["moved_archives"]), (True, 0))

    def test_a_nearly_full_store_refuses_uploads_and_nothing_else(self):
        dirs = [self.small_disk(24) for _ in range(8)]
        gateway = self.serve(dirs=dirs, geometry="4+2", chunk_size="64KiB", superseded_grace="1s", clean_interval="1s")
        file = self.random_file("a", 2 * MIB)
        names = []
        while True:
            put = self.xrdcp(file, f"{gateway.url}//o{len(names):03d}", code=None)
            if put.code != 0:
                break
            names.append(f"/o{len(names):03d}")
        self.assertGreater(len(names), 30)
        self.assertIn("no space left", (put.out + put.err).lower())
        refused = gateway.xec("put", "-q", file, "/more", code=NO_SPACE).err
        self.assertRegex(refused, r"the store is nearly full: only \d data servers have more than their reserve free, and an "
                                  r"upload needs 5 \(s0\d: .* are free, and 2\.4 MiB are its reserve; .*remove objects")
        self.assertGreater(self.curl("-T", file, gateway.http + "/more", code=None).code, 0)
        for path in dirs:
            self.assertGreater((1 - self.full_part(path)) * 24, 1.5, f"the reserve of {path} is there")

        self.assertEqual(gateway.xec("stat", names[0]).code, 0)
        gateway.xec("mv", names[0], "/moved")
        gateway.xec("mkdir", "/folder")
        for name in names[1:8]:
            gateway.xec("rm", name)
        self.xrdcp("-f", f"{gateway.url}//moved", self.path("b"))
        self.assert_same(file, self.path("b"))
        self.eventually(lambda: self.xrdcp("-f", file, f"{gateway.url}//more", code=None).code == 0, 60,
                        "what was removed gives its space back")
        for name in names[8:]:
            gateway.xec("rm", name)

    def test_an_upload_meets_a_full_disk(self):
        """Which is not known to be full: a spare goes on with its lane, and later uploads pass it over."""
        dirs = [self.small_disk(24) for _ in range(8)]
        store = self.xec_on(dirs)
        store("mkdir", "/made", "--geometry", "4+2", "--chunk-size", "64KiB")
        file = self.random_file("a", 12 * MIB)
        content = self.content(file)
        words = [word for path in dirs for word in ("--data", path)]
        upload = subprocess.Popen([self.program("xec"), "put", *words, *OPTIONS, "-q", "-", "/o"], stdin=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        upload.stdin.write(content[:9 * MIB])
        upload.stdin.flush()
        holds = lambda path: any(name.startswith("s.") for name in self.names_of(path))
        self.eventually(lambda: sum(map(holds, dirs)) == 6, 30, "six archives are under way")
        full = next(path for path in dirs if holds(path))
        with open(os.path.join(full, "others"), "wb") as other:
            free = os.statvfs(full)
            other.write(b"\0" * (free.f_bavail * free.f_frsize))
        _, said = upload.communicate(content[9 * MIB:], timeout=xectest.CLIENT_SECONDS)
        self.assertEqual(upload.returncode, 0, said)
        self.assertEqual(store("cat", "/o", binary=True).out, content)
        store("put", "-q", file, "/later")
        member = f"s{dirs.index(full) + 1:02d}"
        for name in ("/o", "/later"):
            self.assertNotIn(member, store("locate", name).out)
        self.check_objects(store, {"/o": file, "/later": file})

    def names_of(self, path):
        folder = os.path.join(path, "o.~xo")
        return os.listdir(folder) if os.path.isdir(folder) else []


if __name__ == "__main__":
    xectest.main()
