# SPDX-License-Identifier: Apache-2.0
"""Stacks for Pyroscope and as OTLP profiles: each stack and value once, where the server's own rules put it, through failures."""

import base64
import contextlib
import gzip
import http.server
import json
import os
import re
import shutil
import subprocess
import threading
import unittest
import urllib.parse

import peers
from harness import AgentCase, main
from questions import http as ask

T0 = 1_700_000_000


class Listener:
    """A server that answers by a list of statuses, then 200; `requests` are (target, headers, body) of those that it accepted."""

    def __init__(self, *answers, port=0):
        listener = self
        self.answers, self.requests, self.refused, self.stopped = list(answers), [], [], False

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def log_message(self, *_):
                pass

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if listener.stopped:  # a connection that is still open
                    self.close_connection = True
                    return
                answer = listener.answers.pop(0) if listener.answers else 200
                status, text = answer if isinstance(answer, tuple) else (answer, b"")
                (listener.requests if status == 200 else listener.refused).append((self.path, dict(self.headers), body))
                self.send_response(status)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                with contextlib.suppress(OSError):
                    self.wfile.write(text)

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def stop(self):
        self.stopped = True
        self.server.shutdown()
        self.server.server_close()


def stack(text, value, profile="cpu", second=20, process="shop", pid="7", **tags):
    field = "profile.samples" if profile == "cpu" else "profile.ns"
    return {"kind": "stack", "time": (T0 + second) * 10**9, "duration": 10**10, "text": text,
            "tags": {"host": "h1", "process": process, "pid": pid, "profile": profile, **tags}, "fields": {field: value}}


STACKS = [stack("main;a;b", 5), stack("main;a", 7), stack("main;naïve →", 2), stack("main;a;b", 11, second=30),
          stack("main;wait x", 123_456_789, "offcpu"), stack("main;read", 5, "wall", pid="8"),
          stack("main;a", 3, process="kworker/0:1", pid="9", container="c,1}"), stack("a b;c d", 4, process="python3.11", pid="10", stage="map 1")]


class StackSinks(AgentCase):
    def agent(self, sink):
        agent = self.run_agent(f"""
        local a = require "atalaya"
        a.pipeline "stacks" {{
          a.source.receive {{ listen = "127.0.0.1:0" }},
          {sink},
        }}""").running()
        self.hub = "http://" + agent.wait_line("listening on ").split("listening on ")[1].split()[0]
        return agent

    def listener(self, *answers):
        listener = Listener(*answers)
        self.addCleanup(listener.stop)
        return listener

    def put(self, samples):
        ask(self.hub + "/api/jsonlines", "".join(json.dumps(sample) + "\n" for sample in samples).encode())

    def finish(self, agent):
        agent.drain()
        status = agent.status()
        self.assert_balanced(status)
        self.assertEqual(agent.stop(), 0, agent.errors())
        return agent.row("stacks", next(row["component"] for row in status["ledger"] if row["type"] == "sink"), status)


def words_of(target):
    path, query = target.split("?")
    return path, dict(urllib.parse.parse_qsl(query, strict_parsing=True))


class Pyroscope(StackSinks):
    def sink(self, listener, more=""):
        return f'a.sink.http {{ url = "{listener.url}", format = "pyroscope", retry_max = "100ms", {more} }}'

    def test_each_stack_arrives_once_through_failures(self):
        listener = self.listener(503, 200, 500, 429)
        agent = self.agent(self.sink(listener, "sample_rate = 99"))
        self.put(STACKS)
        row = self.finish(agent)
        self.assertEqual((row["out"], row["dropped"]), (len(STACKS), 0))
        found = {}
        for target, _, body in listener.requests:
            path, words = words_of(target)
            self.assertEqual(path, "/ingest")
            for line in body.decode().splitlines():
                text, value = line.rsplit(" ", 1)
                key = words["name"], int(words["from"]), int(words["until"]), text
                self.assertNotIn(key, found)
                found[key] = int(value), int(words["sampleRate"]), words["units"]
        wanted = {}
        for sample in STACKS:
            tags = sample["tags"]
            kind, rate, units = {"cpu": ("cpu", 99, "samples"), "offcpu": ("block_duration", 10**9, "lock_nanoseconds"),
                                 "wall": ("wall", 10**9, "samples")}[tags["profile"]]
            name = {"kworker/0:1": "kworker/0_3A1"}.get(tags["process"], tags["process"])
            labels = ["host=h1", f"pid={tags['pid']}", f"process={name}"]
            labels += ["container=c_2C1_7D"] * ("container" in tags) + ["stage=map_201"] * ("stage" in tags)
            key = f"{name}.{kind}{{{','.join(sorted(labels))}}}", sample["time"] - sample["duration"], sample["time"], sample["text"]
            wanted[key] = next(iter(sample["fields"].values())), rate, units
        self.assertEqual(found, wanted)

    def test_the_address_has_the_form_of_the_public_client(self):
        with open(peers.program("pyroscope_request.json")) as file:
            recorded = json.load(file)
        path, theirs = words_of(recorded["url"].removeprefix("http://127.0.0.1:4040"))
        listener = self.listener()
        agent = self.agent(self.sink(listener))
        self.put([stack("main;a", 1, process="shop", pid="1")])
        self.finish(agent)
        (target, headers, _), = listener.requests
        mine = words_of(target)
        self.assertEqual(mine[0], path)
        self.assertLessEqual(set(theirs), set(mine[1]))
        self.assertEqual(mine[1]["format"], "folded")
        self.assertEqual(mine[1]["sampleRate"], theirs["sampleRate"])
        # The client's times are whole seconds; the server reads 19 digits as nanoseconds.
        for key in ("from", "until"):
            self.assertRegex(mine[1][key], r"^\d{19}$")
            self.assertEqual(mine[1][key][:10], theirs[key])
        form = re.compile(r"^[\w./-]+\{[\w.]+=[^,{}=]+(,[\w.]+=[^,{}=]+)*\}$", re.ASCII)
        self.assertRegex(theirs["name"], form)
        self.assertRegex(mine[1]["name"], form)
        self.assertNotIn("Content-Encoding", headers)  # the server does not decompress

    def test_stacks_that_the_server_cannot_read_are_dropped_with_the_reason(self):
        listener = self.listener()
        agent = self.agent(self.sink(listener))
        self.put([stack("main;" + "x" * 70_000, 1), stack("main;a", 1), stack("main;w", 5, "waker"),
                  {"metric": "proc.cpu.user", "timestamp": T0, "value": 1, "tags": {"host": "h1"}}])
        row = self.finish(agent)
        self.assertEqual([body for _, _, body in listener.requests], [b"main;a 1\n"])
        self.assertEqual(row["out"], 1)
        self.assertEqual({reason: count for reason, count in row["reasons"].items() if count},
                         {"is longer than 64 KiB, the limit of Pyroscope for a stack": 1,
                          "Pyroscope has a form for the profiles cpu, offcpu and wall only": 1,
                          "Pyroscope has a form for stacks only": 1})

    def test_a_refused_profile_is_a_dead_letter_and_the_others_arrive(self):
        listener = self.listener((400, b"bad name"))
        agent = self.agent(self.sink(listener, "batch_points = 10"))
        self.put([stack("main;a", 1, process="a"), stack("main;b", 2, process="b")])
        row = self.finish(agent)
        self.assertEqual((row["out"], row["dead_letter"]), (1, 1))
        self.assertEqual([body for _, _, body in listener.requests], [b"main;b 2\n"])


def has_protobuf():
    return shutil.which("protoc") and subprocess.run(["/usr/bin/python3", "-c", "import google.protobuf"], capture_output=True).returncode == 0


def attributes(pairs):
    """{key: text or number}; JSON has the numbers of 64 bits as texts."""
    return {pair["key"]: next(iter(pair["value"].values())) for pair in pairs}


class ProfilesDecoder:
    """Requests with OTLP profiles as stacks."""

    def __init__(self, folder):
        self.folder = folder
        subprocess.run(["protoc", f"--proto_path={os.path.dirname(peers.program('profiles.proto'))}", f"--python_out={folder}",
                        "profiles.proto"], check=True, timeout=60)

    def run(self, *words, **options):
        return subprocess.run(["/usr/bin/python3", peers.program("profiles_decoder.py"), self.folder, *words], check=True, timeout=60,
                              stdout=subprocess.PIPE, **options).stdout

    def stacks(self, requests):
        """[(resource, attributes, profile, stack root first, value)] of (target, headers, body) of each."""
        lines = []
        for target, headers, body in requests:
            assert (target, headers["Content-Type"]) == ("/v1development/profiles", "application/x-protobuf"), (target, headers)
            lines.append(base64.b64encode(gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body))
        for line in self.run(input=b"\n".join(lines)).splitlines():
            yield from self.stacks_of(json.loads(line))

    @staticmethod
    def stacks_of(request):
        """Each index and each table's first entry is checked."""
        tables = request["dictionary"]
        texts = tables["string_table"]
        assert texts[0] == ""
        for name, table in tables.items():
            empty = "" if name == "string_table" else {key: value for key, value in table[0].items() if value not in (0, "0", "", [])}
            assert not empty, name
            entries = [json.dumps(entry, sort_keys=True) for entry in table]
            assert len(set(entries)) == len(entries), f"{name} has an entry twice"
        assert len(tables) == 7

        def function(location):
            return texts[tables["function_table"][tables["location_table"][location]["lines"][0]["function_index"]]["name_strindex"]]
        for resource in request["resource_profiles"]:
            entity = attributes(resource["resource"]["attributes"])
            for profile in (one for scope in resource["scope_profiles"] for one in scope["profiles"]):
                assert len(base64.b64decode(profile["profile_id"])) == 16
                kind = tuple(texts[profile["sample_type"][key]] for key in ("type_strindex", "unit_strindex"))
                tags = {texts[pair["key_strindex"]]: pair["value"]["string_value"]
                        for pair in (tables["attribute_table"][i] for i in profile["attribute_indices"])}
                for sample in profile["samples"]:
                    value, = sample["values"]
                    frames = [function(i) for i in tables["stack_table"][sample["stack_index"]]["location_indices"]]
                    yield (entity["host.name"], entity["process.executable.name"], int(entity["process.pid"]), entity["service.name"],
                           entity.get("container.name", ""), tags.get("stage", ""), kind, int(profile["time_unix_nano"]),
                           int(profile["duration_nano"]), ";".join(reversed(frames)), int(value))


@unittest.skipUnless(has_protobuf(), "needs protobuf-compiler and python3-protobuf")
class OtlpProfiles(StackSinks):
    def setUp(self):
        super().setUp()
        self.decoder = ProfilesDecoder(self.folder)

    def sink(self, listener, more=""):
        return (f'a.sink.otlp {{ url = "{listener.url}", signal = "profiles", experimental = true, retry_max = "100ms", '
                f'batch_points = 3, {more} }}')

    def test_each_stack_is_decoded_with_its_entity(self):
        listener = self.listener(503, 200, 500)
        agent = self.agent(self.sink(listener))
        self.put(STACKS)
        self.finish(agent)
        self.assertGreater(len(listener.requests), 2)
        found = list(self.decoder.stacks(listener.requests))
        kinds = {"cpu": ("samples", "count"), "offcpu": ("off_cpu", "nanoseconds"), "wall": ("wall", "nanoseconds")}
        wanted = [(tags["host"], tags["process"], int(tags["pid"]), tags["process"], tags.get("container", ""), tags.get("stage", ""),
                   kinds[tags["profile"]], sample["time"] - sample["duration"], sample["duration"], sample["text"], next(iter(sample["fields"].values())))
                  for sample in STACKS for tags in (sample["tags"],)]
        self.assertEqual(sorted(found), sorted(wanted))

    def test_refused_profiles_are_counted(self):
        listener = self.listener((200, self.decoder.run("1", "too old")))
        agent = self.agent(self.sink(listener))
        self.put([stack("main;a", 1)])
        agent.wait_line("the server refused 1 of the points: too old")
        self.finish(agent)

    def test_the_flag_is_needed(self):
        agent = self.run_agent('local a = require "atalaya"\na.pipeline "x" { every = "1s", a.source.self {}, '
                               'a.sink.otlp { url = "http://127.0.0.1:1", signal = "profiles" } }')
        self.assertEqual(agent.join(), 1)
        self.assertIn('signal = "profiles" is experimental: its form may change; add experimental = true', agent.errors())


if __name__ == "__main__":
    main()
