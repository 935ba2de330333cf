# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which client does what by which protocol with which credential: all of them, through two gateways of one store on stock
servers. Each row of the table that is printed writes through one gateway and reads through the other. A cell is "ok", "FAIL",
or "-" where the client has no such command (grid_clients.py says why).

XEC_XROOTD61 names an installation of XRootD 6.1 whose clients come along; XEC_UPROOT a folder made by
`pip install --target FOLDER uproot fsspec-xrootd`. XEC_TEST_LONG=1 takes twelve servers. XEC_CLIENTS_FILE=docs/clients.md
writes the table of these servers, in short, into that file."""
# seconds: 900
import concurrent.futures
import os
import zlib

import grid_clients
import grid_site
import grid_store
import xectest
from grid_clients import OPERATIONS

SIZE = 1_500_000
AT_ONCE = 4  # rows
CREDENTIALS = ("certificate", "proxy", "VOMS proxy", "token", "macaroon", "shared secret", "krb5")


def in_short(client, cells):
    """What a client with one credential does of all that it has commands for."""
    failed = [operation for operation, cell in zip(OPERATIONS, cells) if cell == "FAIL"]
    lacking = client.lacks_with.get(client.credential.kind)
    return "FAIL: " + ", ".join(failed) if failed else "ok, but for " + ", ".join(lacking) if lacking else "ok"


def table_in_short(rows):
    """Lines of Markdown, one for each client and protocol; `rows` are pairs of a client and its cells."""
    shown = {}
    for client, cells in rows:
        shown.setdefault(type(client), (client, {}))[1][client.credential.kind] = in_short(client, cells)
    yield ("client", "protocol", *CREDENTIALS, "commands")
    yield ("---",) * (3 + len(CREDENTIALS))
    for client, found in shown.values():
        yield (f"{client.name.split()[0]} {client.version()}", client.protocol, *(found.get(kind, "-") for kind in CREDENTIALS),
               ", ".join(operation for operation in OPERATIONS if operation not in client.lacks))


class ClientTable(grid_store.StoreTest):
    def setUp(self):
        super().setUp()
        self.file = self.random_file("large", SIZE)
        self.sums = {"adler32": f"{zlib.adler32(self.content()):08x}",
                     "crc32c": self.run_program(["xrdcrc32c", self.file]).out.split()[0]}
        self.credentials = self.one_of_every_kind()

    def check_holds(self, name):
        status, body = self.judge("GET", name)
        self.assertEqual(status, 200, name)
        self.assertTrue(body == self.content(), f"{name} has other bytes")

    def check(self, client, operation, folder):
        """One cell. What is there before and after is said by the judge, so that no cell depends on another one."""
        name = folder + "/file"
        target = self.path(folder.replace("/", "_"))
        if operation == "put":
            client.put(self.file, self.gateway, name)
            self.check_holds(name)
        elif operation == "get":
            client.get(self.second, name, target)
            self.assert_same(self.file, target)
        elif operation == "list":
            self.assertEqual(client.list(self.second, folder), {"file"})
        elif operation == "stat":
            self.assertEqual(client.stat(self.second, name), SIZE)
        elif operation == "checksum":
            self.assertEqual(client.checksum(self.second, name), self.sums[client.algorithm])
        elif operation == "rename":
            client.rename(self.second, name, folder + "/new")
            self.assertEqual(self.judge("HEAD", name)[0], 404)
            self.check_holds(folder + "/new")
        elif operation == "remove":
            client.remove(self.second, name)
            self.assertEqual(self.judge("HEAD", name)[0], 404)

    def row(self, client):
        """The cells of one client with one credential, and what went wrong."""
        folder = "/".join((client.credential.folder, client.name, client.protocol, client.credential.kind)).replace(" ", "-")
        cells, failures = [], []
        for operation in OPERATIONS:
            if not client.can(operation):
                cells.append("-")
                continue
            if operation != "put" and self.judge("HEAD", folder + "/file")[0] == 404:
                self.assertEqual(self.judge("PUT", folder + "/file", self.content())[0], grid_site.PUT_STATUS)
            try:
                self.check(client, operation, folder)
                cells.append("ok")
            except Exception as error:  # what a client prints may be unreadable in many ways
                cells.append("FAIL")
                failures.append(f"{folder} {operation}: {type(error).__name__}: {error}")
        return cells, failures

    def write(self, rows):
        """Into the place of these servers in the file that XEC_CLIENTS_FILE names."""
        version = self.run_program([os.path.join(os.environ.get("XEC_XROOTD", "/usr"), "bin", "xrootd"), "-v"]).err.strip(" v\n")
        begin, end = f"<!-- servers of XRootD {version} -->\n", "<!-- end -->\n"
        with open(os.environ["XEC_CLIENTS_FILE"], "r+", encoding="utf-8") as file:
            text = file.read()
            self.assertIn(begin, text)
            before, _, rest = text.partition(begin)
            table = "".join("| " + " | ".join(words) + " |\n" for words in table_in_short(rows))
            file.seek(0)
            file.truncate()
            file.write(before + begin + table + end + rest.partition(end)[2])

    def test_table(self):
        def print_row(*words):
            print("{:<10} {:<8} {:<14}".format(*words[:3]), *(f"{word:<8}" for word in words[3:]), flush=True)
        print_row("client", "protocol", "credential", *OPERATIONS)
        skipped = {kind: kind.missing() for kind in grid_clients.CLIENTS}
        clients = [kind(self, self.credentials[name])
                   for kind in grid_clients.CLIENTS if not skipped[kind] for name in kind.credentials]
        failures, rows = [], []
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            for client, (cells, failed) in zip(clients, pool.map(self.row, clients)):
                print_row(client.name, client.protocol, client.credential.kind, *cells)
                failures += failed
                rows.append((client, cells))
        for kind, reason in skipped.items():
            if reason:
                print(f"{kind.name} by {kind.protocol} is skipped: {reason}", flush=True)
        if os.environ.get("XEC_CLIENTS_FILE"):
            self.write(rows)
        self.assertFalse(failures, "\n".join(failures))

    def test_uproot_reads_what_it_wrote(self):
        """A tree of ROOT, some branches and entries of which are read through the other gateway."""
        client = grid_clients.Uproot(self, self.credentials["token"])
        if reason := client.missing():
            self.skipTest(reason)
        urls = (client.url(gateway, "/tokens/tree.root") for gateway in (self.gateway, self.second))
        self.assertEqual(client.python("tree", *urls, self.path("tree.root")), "True\n")


if __name__ == "__main__":
    xectest.main()
