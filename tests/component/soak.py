# SPDX-License-Identifier: LGPL-3.0-or-later
"""Does a process stay as it is while it is used for long? XEC_SOAK_MINUTES says for how long; the first sixth is for warming up."""
import os
import random
import threading

import xectest

MINUTES = float(os.environ.get("XEC_SOAK_MINUTES", "0.5"))
WARM_UP = MINUTES * 60 / 6
SAMPLES = 30
MIB = 1 << 20
# What may differ between two samples of a process that is well: transfers under way, and buffers that the allocator keeps.
SLACK = {"descriptors": 60, "threads": 24, "memory": 192 * MIB}


class Sample:
    def __init__(self, pid):
        self.descriptors = len(os.listdir(f"/proc/{pid}/fd"))
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            fields = dict(line.split(":", 1) for line in status if ":" in line)
        self.threads = int(fields["Threads"])
        self.memory = int(fields["VmRSS"].split()[0]) * 1024


class SoakTest(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.over, self.threads, self.errors = threading.Event(), [], []

    def until_over(self, work, name=""):
        """Runs the work, a function of a generator, again and again in a thread of its own."""
        def run():
            generator = random.Random(work.__name__ + name)
            try:
                while not self.over.is_set():
                    work(generator)
            except Exception as error:  # pylint: disable=broad-except
                self.errors.append(f"{work.__name__} {name}: {type(error).__name__}: {error}")
                self.over.set()
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.threads.append(thread)

    def check_flat(self, pid):
        """While the work goes on, and until it ends: the last third of the samples has no more than the first."""
        self.over.wait(WARM_UP)
        samples = []
        for _ in range(SAMPLES):
            samples.append(Sample(pid))
            self.over.wait((MINUTES * 60 - WARM_UP) / SAMPLES)
        self.over.set()
        for thread in self.threads:
            thread.join()
        self.assertEqual(self.errors, [])
        third = SAMPLES // 3
        for what, slack in SLACK.items():
            values = [getattr(sample, what) for sample in samples]
            first, last = max(values[:third]), max(values[-third:])
            print(f"{what}: at most {first} in the first third, {last} in the last", flush=True)
            self.assertLessEqual(last, first + slack, f"{what}: {values}")
