# SPDX-License-Identifier: LGPL-3.0-or-later
"""Many clients at once, through one gateway and through two: whole versions only, at most one creator, and readers
that keep what they opened."""
import contextlib
import http.client
import itertools
import os
import re
import socket
import subprocess
import threading

import everyday
import xectest

KIB = 1024
# So that xrdcp takes from the gateway little more than it has passed on.
SMALL_STEPS = {"XRD_CPCHUNKSIZE": str(256 * KIB), "XRD_CPPARALLELCHUNKS": "1"}


class ConcurrentTest(everyday.EverydayTest):
    def gateway(self, **options):
        return self.serve(**{"geometry": "4+2", "chunk_size": "64KiB", **options})

    def two_gateways(self, **options):
        first = self.gateway(**options)
        return first, self.gateway(dirs=first.dirs, **options)

    def http_reader(self, gateway, name):
        """A client that has the object open and takes the rest later; returns a function that takes it."""
        connection = socket.socket()
        self.addCleanup(connection.close)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
        connection.settimeout(60)
        host, port = re.match(r"http://([^:/]+):(\d+)", gateway.http).groups()
        connection.connect((host, int(port)))
        connection.sendall(f"GET {name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(4096)
        header, _, body = data.partition(b"\r\n\r\n")
        self.assertIn(b" 200 ", header)
        length = int(re.search(rb"Content-Length: (\d+)", header).group(1))

        def rest():
            pieces, received = [body], len(body)
            while received < length:
                piece = connection.recv(1 << 20)
                self.assertTrue(piece, f"closed after {received} of {length} bytes")
                pieces.append(piece)
                received += len(piece)
            return b"".join(pieces)
        return rest

    def root_reader(self, gateway, name):
        """The same with xrdcp, which writes into a pipe that is full until somebody reads it."""
        client = subprocess.Popen(["xrdcp", "--nopbar", f"{gateway.url}/{name}", "-"], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, env={**os.environ, **SMALL_STEPS})
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.addCleanup(client.stdout.close)
        begin = client.stdout.read(1000)
        self.assertEqual(len(begin), 1000)

        def rest():
            data = begin + client.stdout.read()
            self.assertEqual(client.wait(60), 0)
            return data
        return rest


class OneGateway(ConcurrentTest):
    def test_streams_and_readers_of_one_object(self):
        store = self.gateway(chunk_size="256KiB")
        file = self.random_file("big", 60_000_000)
        self.xrdcp("--streams", "4", file, store.url + "//big")
        self.xrdcp("--streams", "4", store.url + "//big", self.path("back"))
        self.assert_same(file, self.path("back"))
        readers = [self.background(["xrdcp", "--nopbar", store.url + "//big", self.path(f"r{i}")]) for i in range(4)]
        readers += [self.background(["curl", "-sSf", "-o", self.path(f"r{i}"), store.http + "/big"]) for i in range(4, 8)]
        for number, reader in enumerate(readers):
            self.assertEqual(reader.wait(), 0, reader.output())
            self.assert_same(file, self.path(f"r{number}"))

    def test_fifty_uploads(self):
        store = self.gateway()
        files = [self.random_file(f"u{i}", 300_000 + 1000 * i, i) for i in range(50)]
        clients = []
        for number, file in enumerate(files):
            argv = (["xrdcp", "--nopbar", file, f"{store.url}//many/{number}"] if number % 2
                    else ["curl", "-sSf", "-T", file, f"{store.http}/many/{number}"])
            clients.append(self.background(argv))
        for client in clients:
            self.assertEqual(client.wait(), 0, client.output())
        self.assertEqual(len(self.xrdfs(store.url, "ls", "/many").out.split()), 50)
        self.check_all_reads(store, {f"/many/{number}": file for number, file in enumerate(files)})

    def test_replacing_what_clients_of_the_same_gateway_read(self):
        store = self.gateway()
        old = self.put(store, "/a", 16_000_000)
        for number in range(3):
            new = self.random_file(f"new{number}", 16_000_000 + number, 2 + number)
            rests = [self.root_reader(store, "/a"), self.http_reader(store, "/a")]
            if number % 2:
                self.curl("-T", new, store.http + "/a")
            else:
                self.xrdcp("-f", new, store.url + "//a")
            self.check_reads(store, "/a", new)
            for rest in rests:
                self.assertEqual(self.content(old), rest())
            old = new

    def test_many_writers_of_one_name(self):
        """Each writes its own upload, also those that open in the same instant; each that succeeds was whole."""
        store = self.gateway()
        files = [self.random_file(f"w{number}", 200_000 + number, number) for number in range(12)]
        known = {self.sha256(file) for file in files}
        for round_number in range(4):
            clients = [self.background(["xrdcp", "--nopbar", "-f", file, store.url + "//w"] if number % 2
                                       else ["curl", "-sSf", "-T", file, store.http + "/w"])
                       for number, file in enumerate(files)]
            codes = [client.wait() for client in clients]
            self.assertEqual(codes, [0] * len(files), "\n".join(client.output() for client in clients))
            self.xrdcp("-f", store.url + "//w", self.path("back"))
            self.assertIn(self.sha256(self.path("back")), known)


class OpenReaders(ConcurrentTest):
    """The object is replaced, renamed or removed through one gateway while clients of the other, and of a third, have
    it open."""
    CHANGES = ("replace", "rename over", "rename away", "rename the directory", "remove", "remove and create")

    def change(self, gateway, kind, name, new):
        if kind == "replace":
            self.xrdcp("-f", new, f"{gateway.url}/{name}")
        elif kind == "rename over":
            self.xrdcp(new, f"{gateway.url}//moving")
            self.xrdfs(gateway.url, "mv", "/moving", name)
        elif kind == "rename away":
            self.xrdfs(gateway.url, "mv", name, name + ".moved")
        elif kind == "rename the directory":
            self.xrdfs(gateway.url, "mv", os.path.dirname(name), os.path.dirname(name) + ".moved")
        else:
            self.xrdfs(gateway.url, "rm", name)
            if kind == "remove and create":
                self.xrdcp(new, f"{gateway.url}/{name}")

    def check_changes(self, readers_at, changer, meanwhile=lambda kind: None):
        old, new = self.random_file("old", 16_000_000, 1), self.random_file("new", 600_000, 2)
        for kind in self.CHANGES:
            with self.subTest(kind):
                name = f"/{kind.replace(' ', '-')}/object"
                self.xrdcp(old, f"{changer.url}/{name}")
                rests = [opener(gateway, name) for gateway in readers_at for opener in (self.http_reader, self.root_reader)]
                self.change(changer, kind, name, new)
                for gateway in (changer, *readers_at):
                    if kind in ("replace", "rename over", "remove and create"):
                        self.check_reads(gateway, name, new)
                    else:
                        self.assertIn("[3011]", self.xrdfs(gateway.url, "stat", name, code=54).err)
                        self.assertEqual(self.http_status(gateway.http + name), 404)
                if kind == "rename away":
                    self.check_reads(readers_at[0], name + ".moved", old)
                meanwhile(kind)
                for rest in rests:
                    self.assertEqual(self.content(old), rest())

    def test_on_directories(self):
        first, second = self.two_gateways()
        self.check_changes([first], second)

    def test_on_a_cluster_that_loses_servers_meanwhile(self):
        """Then the readers need archives that they had not opened before the change."""
        cluster = self.cluster(servers=7, geometry="4+2", chunk_size="64KiB", gateways=2)
        for gateway in cluster.gateways:
            gateway.http = gateway.http_url
        stopped = []

        def lose_two(kind):
            if kind in ("replace", "rename away"):
                stopped.extend(cluster.servers[:2] if kind == "replace" else cluster.servers[3:5])
                for server in stopped:
                    server.kill()
        self.CHANGES = ("replace",)
        self.check_changes(cluster.gateways[:1], cluster.gateways[1], lose_two)
        for server in stopped:
            cluster.start(server)
        stopped.clear()
        self.CHANGES = ("rename away",)
        self.check_changes(cluster.gateways[:1], cluster.gateways[1], lose_two)


class TwoGateways(ConcurrentTest):
    def test_exclusive_creations_have_at_most_one_winner(self):
        gateways = self.two_gateways()
        for round_number in range(3):
            name = f"//race-{round_number}"
            files = [self.random_file(f"f{i}", 400_000 + i, i) for i in range(6)]
            clients = [self.background(["xrdcp", "--nopbar", file, gateways[number % 2].url + name])
                       for number, file in enumerate(files)]
            winners = [file for file, client in zip(files, clients) if client.wait() == 0]
            self.assertLessEqual(len(winners), 1)
            if not winners:
                # Both gave way to each other; nothing is there, and the next one gets it.
                self.assertIn("[3011]", self.xrdfs(gateways[0].url, "stat", name[1:], code=54).err)
                self.xrdcp(files[0], gateways[1].url + name)
                winners = files[:1]
            for gateway in gateways:
                self.xrdcp("-f", gateway.url + name, self.path("back"))
                self.assert_same(winners[0], self.path("back"))

    def test_readers_see_whole_versions_while_writers_replace_them(self):
        gateways = self.two_gateways()
        files = [self.random_file(f"v{i}", 500_000 + 70_000 * i, i) for i in range(8)]
        known = {self.sha256(file): number for number, file in enumerate(files)}
        self.xrdcp(files[0], gateways[0].url + "//v")
        writers = []
        for number, gateway in enumerate(gateways):
            script = "; ".join(f"xrdcp --nopbar -f {file} {gateway.url}//v || true" for file in files[number::2] * 2)
            writers.append(self.background(["sh", "-c", script]))
        seen, reads = set(), 0
        while any(writer.popen.poll() is None for writer in writers) or reads < 4:
            reads += 1
            self.run_program(["xrdcp", "--nopbar", "-f", gateways[reads % 2].url + "//v", self.path("r")])
            seen.add(known[self.sha256(self.path("r"))])
        self.assertTrue(seen)
        finals = set()
        for gateway in gateways:
            self.xrdcp("-f", gateway.url + "//v", self.path("r"))
            finals.add(self.sha256(self.path("r")))
        self.assertEqual(len(finals), 1)
        self.assertIn(finals.pop(), known)

    def test_http_never_gives_the_length_of_one_version_with_the_bytes_of_another(self):
        """XRootD 5 stats and opens for one GET. Who is caught in between gets an error, and asks again."""
        gateways = self.two_gateways()
        versions = [b"s" * 2000, b"l" * 300_000]
        over = threading.Event()

        def request(gateway, method, body=None):
            connection = http.client.HTTPConnection(xectest.HOST, gateway.port, timeout=60)
            with contextlib.closing(connection):
                connection.request(method, "/v", body)
                response = connection.getresponse()
                return response.status, response.read()

        def replace():
            for number in itertools.count():
                if over.is_set():
                    return
                request(gateways[0], "PUT", versions[number % 2])
        request(gateways[0], "PUT", versions[1])
        writer = threading.Thread(target=replace)
        writer.start()
        try:
            answers = [request(gateways[1], "GET") for _ in range(150)]
        finally:
            over.set()
            writer.join()
        whole = [data for status, data in answers if status == 200]
        self.assertEqual({data for data in whole} - set(versions), set())
        self.assertEqual({status for status, _ in answers} - {200, 500, 503}, set())
        self.assertGreater(len(whole), 50)

    def test_many_uploads_and_listings(self):
        gateways = self.two_gateways()
        clients = []
        for number in range(24):
            file = self.random_file(f"u{number}", 30_000 + number, number)
            gateway = gateways[number % 2]
            clients.append(self.background(["xrdcp", "--nopbar", file, f"{gateway.url}//d/{number}"] if number % 4 < 2
                                           else ["curl", "-sSf", "-T", file, f"{gateway.http}/d/{number}"]))
        for client in clients:
            self.assertEqual(client.wait(), 0, client.output())
        expected = sorted(f"/d/{number}" for number in range(24))
        for gateway in gateways:
            self.assertEqual(sorted(self.xrdfs(gateway.url, "ls", "/d").out.split()), expected)
        removers = [self.background(["xrdfs", gateways[number % 2].url, "rm", f"/d/{number // 2}"]) for number in range(24)]
        codes = [remover.wait() for remover in removers]
        for number in range(12):
            # Two gateways remove the same name: at least one of them did.
            self.assertIn(0, codes[2 * number:2 * number + 2])
        for gateway in gateways:
            self.assertEqual(sorted(self.xrdfs(gateway.url, "ls", "/d").out.split()),
                             sorted(f"/d/{number}" for number in range(12, 24)))


if __name__ == "__main__":
    xectest.main()
