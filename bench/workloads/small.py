# SPDX-License-Identifier: LGPL-3.0-or-later
"""Whole objects of --small-size, put, read, looked up and deleted by 1 to 1,000 clients (paper 1, figure 3)."""
from .base import Workload, format_size

OPERATIONS = ("put", "get", "stat", "delete")


class Small(Workload):
    name = "small"
    about = "put, get, stat, delete of objects of 27 KB with 1 to 1,000 clients"
    every_policy = True
    many_names = True

    def title(self):
        return f"operations/s on objects of {self.size()}"

    def size(self):
        return format_size(self.options.small_size)

    def steps(self):
        return [(f"{clients} clients, ", lambda subject, turn, clients=clients: self.measure(subject, turn, clients))
                for clients in self.options.clients]

    def measure(self, subject, turn, clients):
        folder = f"small-{clients}-{turn}"
        subject.make_folder(folder)
        objects = 0
        for operation in OPERATIONS:
            words = ["--operation", operation, "--clients", clients, "--size", self.options.small_size,
                     "--folder", "/" + folder]
            words += ["--seconds", self.options.seconds] if operation != "delete" else []
            words += ["--objects", objects] if operation != "put" else []
            with self.bench.meter(subject) as cost:
                answer = self.bench.load(subject, "small", *words)
            if operation == "put":
                objects = answer["objects_per_client"]
            self.record(f"{operation}, {clients} client{'s' if clients > 1 else ''}", subject, turn, answer, cost)
            self.add_peak(subject, turn, cost, f"small, {clients} client{'s' if clients > 1 else ''}, {operation}")
        subject.forget(folder)

    def record(self, row, subject, turn, answer, cost):
        size, operations = self.size(), max(1, answer["operations"])
        self.add(row, subject, turn, answer["operations_per_second"], ratio=True)
        for quantile in ("p50", "p99"):
            self.add(row, subject, turn, answer["latency_ms"][quantile], table=f"small {quantile}",
                     title=f"{'median' if quantile == 'p50' else 'p99'} ms on objects of {size}")
        self.add(row, subject, turn, 1000 * cost.cpu / operations, table="small cpu",
                 title=f"server CPU ms for each operation on objects of {size}")
        self.add(row, subject, turn, 1000 * answer["cpu_seconds"] / operations, table="small client cpu",
                 title=f"client CPU ms for each operation on objects of {size}")
        self.add_requests(row, subject, turn, operations, cost, table="small requests",
                          title=f"requests to data servers for each operation on objects of {size}")
