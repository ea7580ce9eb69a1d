# SPDX-License-Identifier: Apache-2.0
"""Totals of the rates in a file of samples. A rate is the count between two readings, divided by the time between them; and a reading is
made after its window has ended, and before the window is seen in the file. So the count has a minimum and a maximum, and a busy host
only widens that."""

import json
import os
import threading
import time

from harness import so_far


class Follower:
    """Sees windows come, in a thread."""

    def __init__(self, path):
        self.path = path
        self.seen = {}  # window's end -> when it was seen
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()

    def end(self):
        self.ended.set()
        self.thread.join()

    def _follow(self):
        while not os.path.exists(self.path):
            if self.ended.wait(0.002):
                return
        with open(self.path, "rb") as file:
            while not self.ended.wait(0.002):
                self._read(file)

    def _read(self, file):
        for line in iter(file.readline, b""):
            if not line.endswith(b"\n"):  # the rest of it is still to come
                file.seek(-len(line), os.SEEK_CUR)
                return
            self.seen.setdefault(json.loads(line)["time"], time.time_ns())

    def bounds(self, chosen, rate):
        """The minimum and the maximum count in these samples; `rate` returns the rate of a sample per second."""
        rates = dict.fromkeys(sorted({sample["time"] for sample in so_far(self.path)}), 0)
        now = time.time_ns()
        for sample in chosen:
            rates[sample["time"]] += rate(sample)
        begin = min(rates)
        least = most = 0
        # The sum of rates times lengths, as a sum over readings: the window that one ends gains by its rate the loss of the next one.
        for (end, before), after in zip(rates.items(), [*rates.values()][1:] + [0]):
            early, late = (end - begin) / 1e9, (self.seen.get(end, now) - begin) / 1e9
            least += min((before - after) * early, (before - after) * late)
            most += max((before - after) * early, (before - after) * late)
        return least, most
