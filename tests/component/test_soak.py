# SPDX-License-Identifier: LGPL-3.0-or-later
# seconds: 4800
"""A gateway whose clients are killed, go away in mid-request or say nothing: descriptors, connections, threads and memory stay
what they were.

`./dev test` takes half a minute; XEC_SOAK_MINUTES=60 an hour.
"""
import contextlib
import signal
import socket
import subprocess

import soak
import xectest

IDLE_CLIENTS = 10
SIZE = 20 * soak.MIB
CLOSE_WAIT = "08"  # /proc/net/tcp
XROOTD_HELLO = bytes(8) + (4).to_bytes(4, "big") + (2012).to_bytes(4, "big") + bytes(4)
UNFINISHED = (b"", XROOTD_HELLO[:7], XROOTD_HELLO, b"GET /kept HT", b"PUT /half HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" + bytes(1000),
              bytes(range(256)))


class Soak(soak.SoakTest):
    def connect(self):
        return socket.create_connection((xectest.HOST, self.gateway.port), timeout=10)

    def go_in_mid_request(self, generator):
        connection = self.connect()
        connection.sendall(generator.choice(UNFINISHED))
        if generator.random() < 0.5:  # with a reset
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        else:
            with contextlib.suppress(OSError):  # the gateway was faster
                connection.shutdown(socket.SHUT_WR)
        self.over.wait(0.05)
        connection.close()

    def kill_a_transfer(self, generator):
        name = f"{self.gateway.url}//killed/{generator.randrange(20)}"
        argv = generator.choice((
            ["xrdcp", "-f", "--nopbar", self.file, name],
            ["xrdcp", "-f", "--nopbar", f"{self.gateway.url}//kept", "/dev/null"],
            ["curl", "-s", "--limit-rate", "5M", "-T", self.file, f"{self.gateway.http}/killed/{generator.randrange(20)}"],
            ["curl", "-s", "--limit-rate", "5M", "-o", "/dev/null", f"{self.gateway.http}/kept"]))
        client = subprocess.Popen(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.over.wait(generator.uniform(0.05, 0.6))
        client.send_signal(signal.SIGKILL)
        client.wait()

    def transfer(self, _):
        self.run_program(["xrdcp", "-f", "--nopbar", self.file, f"{self.gateway.url}//whole"])
        self.run_program(["xrdcp", "-f", "--nopbar", f"{self.gateway.url}//whole", "/dev/null"])

    def close_wait(self):
        """Connections to the gateway that it has not closed although the client has."""
        port = f":{self.gateway.port:04X}"
        with open("/proc/net/tcp", encoding="ascii") as tcp, open("/proc/net/tcp6", encoding="ascii") as tcp6:
            lines = [line.split() for line in [*tcp, *tcp6]]
        return sum(line[1].endswith(port) and line[3] == CLOSE_WAIT for line in lines)

    def test_nothing_grows(self):
        self.gateway = self.serve(geometry="4+2", chunk_size="1MiB", memory="128MiB",
                                  options=["--clean-interval", "2s", "--upload-grace", "5s", "--superseded-grace", "2s",
                                           "--operation-limit", "2s", "--tombstone-horizon", "5s"])
        self.file = self.random_file("source", SIZE)
        self.xrdcp(self.file, f"{self.gateway.url}//kept")
        idle = [self.connect() for _ in range(IDLE_CLIENTS)]
        for work in (self.go_in_mid_request, self.kill_a_transfer, self.kill_a_transfer, self.transfer):
            self.until_over(work)
        self.check_flat(self.gateway.pid)
        self.eventually(lambda: self.close_wait() == 0, 60, "the gateway has closed what its clients have closed")
        for connection in idle:
            connection.close()
        self.xrdcp("-f", f"{self.gateway.url}//kept", self.path("kept"))
        self.assert_same(self.file, self.path("kept"))


if __name__ == "__main__":
    xectest.main()
