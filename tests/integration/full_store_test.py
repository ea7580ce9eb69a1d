# SPDX-License-Identifier: Apache-2.0
"""A hub whose store is full, or removed: what it acknowledged can be read back, and what it cannot keep it refuses."""

import contextlib
import json
import os
import random
import sqlite3
import time

from harness import PATIENCE, AgentCase, main
from receive_test import Client, point

STORED = "select metric, cast(value as integer) from points"
SPANS = "select name from spans"


class FullStore(AgentCase):
    def hub(self, **sink):
        self.store = sink.setdefault("path", self.path("store.db"))
        options = ", ".join(f'{name} = "{value}"' for name, value in sink.items())
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "hub" {{
          a.source.receive {{ listen = "127.0.0.1:0", store_timeout = "300ms" }},
          a.sink.sqlite {{ {options} }},
        }}""").running()
        port = int(agent.wait_line("listening on").split("listening on ")[1].split()[0].rsplit(":", 1)[1])
        self.client = Client(port)
        self.addCleanup(self.client.close)
        return agent

    def stored(self, query):
        with contextlib.closing(sqlite3.connect(self.store)) as database:  # open, it would keep files that are gone
            return set(database.execute(query).fetchall())

    def spans(self, first, count):
        now = time.time_ns() // 1_000_000
        lines = [json.dumps({"kind": "span", "time": now, "duration": -1, "text": f"task {first + i}", "tags": {"job": str(first + i)}})
                 for i in range(count)]
        return self.client.ask("/api/jsonlines", "\n".join(lines))[0]

    def test_open_spans_of_one_sender_delete_nothing_of_another(self):
        agent = self.hub(max_size="4 MiB")
        while self.spans(0, 5000) != 204:  # on a busy machine the first commit may take longer than store_timeout
            pass
        answers = [204, *(self.spans(i * 5000, 5000) for i in range(1, 20))]
        self.assertIn(503, answers)
        agent.wait_line("has reached its max_size of 4 MiB")
        kept = self.stored(SPANS)
        for i, answer in enumerate(answers):
            if answer == 204:
                self.assertIn((f"task {i * 5000}",), kept)
        acknowledged = [i for i in range(10) if self.client.put([point("load", i, int(time.time()) + i)])[0] == 204]
        self.assertEqual({("load", i) for i in acknowledged} - self.stored(STORED), set())

    def test_a_random_mix_of_senders_reads_back_what_was_acknowledged(self):
        seed = random.randrange(1 << 32)
        print("seed", seed)
        dice = random.Random(seed)
        self.hub(max_size="3 MiB")
        points, spans, refused, now = set(), set(), 0, int(time.time())  # one `now`: else points of two batches can be at one time
        for batch in range(120):
            kind = dice.randrange(4)
            count = dice.choice([1, 10, 1000])
            first = batch * 1000
            if kind == 0:
                status, new = self.spans(first, count), {(f"task {first + i}",) for i in range(count)}
            else:
                host = {1: "usual", 2: "only", 3: "only"}[kind]
                put = [point(f"m{first + i}" if kind == 3 else "m", first + i, now - (first + i) * (kind == 1), host=host + str(i * (kind > 1)),
                             batch=str(batch * (kind > 1))) for i in range(count)]
                status, new = self.client.put(put)[0], {(one["metric"], one["value"]) for one in put}
            self.assertIn(status, (204, 503))
            refused += status == 503
            if status == 204:
                (spans if kind == 0 else points).update(new)
            if refused == 5:
                break
        self.assertGreater(refused, 0)
        self.assertEqual(points - self.stored(STORED), set())
        self.assertEqual(spans - self.stored(SPANS), set())

    def test_room_comes_back_with_age(self):
        agent = self.hub(max_size="2 MiB", min_retain="1s")
        for i in range(20):
            self.spans(i * 2000, 2000)
        agent.wait_line("has reached its max_size of 2 MiB")
        self.put_until_stored(7)
        self.assertIn(("load", 7), self.stored(STORED))

    def test_a_store_removed_under_the_hub_is_made_again_before_anything_is_acknowledged(self):
        agent = self.hub()
        self.client.put([point("load", 0)])
        for i, gone in enumerate((["", "-wal", "-shm"], [""], ["-wal"], ["-shm"], ["-wal", "-shm"], ["-lock"]), start=1):
            with self.subTest(gone=gone):
                for suffix in gone:
                    os.remove(self.store + suffix)
                errors = agent.row("hub", "sink sqlite")["errors"]
                self.put_until_stored(i)
                self.assertIn(("load", i), self.stored(STORED))
                self.assertEqual(agent.row("hub", "sink sqlite")["errors"], errors + 1)
        agent.wait_line("was removed or replaced while the agent wrote to it")
        self.assert_balanced(agent.status())
        # A log alone that is removed costs nothing that was acknowledged.
        self.assertTrue({("load", i) for i in range(3, 7)} <= self.stored(STORED))

    def test_a_store_whose_folder_was_removed_waits_for_it(self):
        os.mkdir(self.path("var"))
        agent = self.hub(path=self.path("var/store.db"))
        self.client.put([point("load", 0)])
        os.rename(self.path("var"), self.path("gone"))
        self.assertEqual(self.client.put([point("load", 1)])[0], 503)
        os.mkdir(self.path("var"))
        self.put_until_stored(2)
        self.assertEqual(self.stored(STORED), {("load", 1), ("load", 2)})
        self.assertEqual(agent.stop(), 0, agent.errors())

    def put_until_stored(self, value):
        until = time.monotonic() + PATIENCE
        while self.client.put([point("load", value, int(time.time()) + value)])[0] != 204:
            self.assertLess(time.monotonic(), until)


if __name__ == "__main__":
    main()
