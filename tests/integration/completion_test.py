# SPDX-License-Identifier: Apache-2.0
"""Completion in a real bash, zsh and fish on a terminal: names that the store has are offered, and never run."""

import hashlib
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import subprocess
import time
import unittest

from harness import BINARY, PATIENCE, AgentCase, main

BINARY = os.path.abspath(BINARY)
NAMES = ("java", "two words", "$(touch pwned)", "`touch pwned`", "a;touch pwned", "it's", "-rf", "*")


def fill(case, store, names=NAMES):
    """A store with one process for each name, and an experiment."""
    listed = ", ".join('"' + name.replace('"', '\\"') + '"' for name in names)
    agent = case.run_agent(f"""
        local a = require "atalaya"
        local names, last = {{ {listed} }}, 0
        a.pipeline "self" {{ every = "100ms", a.source.self {{}},
          function(s) last = last % #names + 1; s.tags.process = names[last]; return s end,
          a.sink.sqlite {{ path = "{store}" }} }}""").running()
    agent.wait_status(lambda status: agent.row("self", "sink sqlite", status)["out"] >= len(names))
    case.assertEqual(agent.stop(), 0, agent.errors())
    subprocess.run([BINARY, "experiment", "start", "nightly sort", "--store", store], check=True, capture_output=True)


class Shell:
    """An interactive shell with completion."""

    def __init__(self, folder, environment, command):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            path = os.path.dirname(BINARY) + ":" + os.environ["PATH"]
            os.execvpe(command[0], command,
                       {**os.environ, "PATH": path, "ATALAYA_COMPLETION_TIMEOUT": str(PATIENCE), "PS1": "", "TERM": "dumb",
                        "HISTFILE": "", "INPUTRC": "/dev/null", "HOME": folder, "ZDOTDIR": folder,
                        "XDG_CONFIG_HOME": os.path.join(folder, "config"), "XDG_DATA_HOME": os.path.join(folder, "data"), **environment})
        self.number = 0

    @staticmethod
    def script(folder, name):
        path = os.path.join(folder, "completion." + name)
        with open(path, "w") as file:
            file.write(subprocess.run([BINARY, "help", name], capture_output=True, text=True, check=True).stdout)
        return path

    def send(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, text):
        seen, until = b"", time.monotonic() + PATIENCE
        while text not in seen:
            ready, _, _ = select.select([self.terminal], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise AssertionError(f"no {text} in {seen[-2000:]!r}")
            seen += os.read(self.terminal, 65536)
        return seen.decode(errors="replace")

    def enter(self, text):
        """Enters a line; returns what the terminal shows until the next command has run."""
        self.number += 1
        self.send(f"{text}; printf 'ready%sX' {self.number}\r")
        return self.read_until(f"ready{self.number}X".encode())

    def words_after(self, line, keys):
        """Types the line and the keys; the line then becomes the arguments of a function that prints them."""
        return re.findall(r"ARG<(.*?)>(?=ARG<|\r|\n|$)", self.enter(f"{line}{keys}\x01args \x05"))

    def completions(self, line):
        """All completions of the last word of the line, after they were inserted; the word itself if there is none."""
        return self.words_after(line, self.INSERT_ALL)[len(line.split(" ")) - 1:]

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.terminal)


class Bash(Shell):
    NAME = "bash"
    INSERT_ALL = "\x1b*"

    def __init__(self, folder, environment):
        script = self.script(folder, "bash")
        super().__init__(folder, environment, ["bash", "--norc", "--noprofile", "-i"])
        self.enter(f"stty -echo columns 20000; bind 'set enable-bracketed-paste off'; bind 'set completion-query-items 0'; . {script}; "
                   "args() { printf 'ARG<%s>' \"$@\"; echo; }")


class Zsh(Shell):
    NAME = "zsh"
    INSERT_ALL = "\x18a"

    def __init__(self, folder, environment):
        script = self.script(folder, "zsh")
        super().__init__(folder, environment, ["zsh", "-f", "-i"])
        # The last widget inserts all matches.
        self.enter(f"stty columns 1000; unset zle_bracketed_paste; autoload -U compinit; compinit -u -D; . {script}; bindkey -e; "
                   "args() { printf 'ARG<%s>' \"$@\"; echo; }; zle -C all complete-word _generic; bindkey '^Xa' all; "
                   "zstyle ':completion:all:*' insert yes; zstyle ':completion:all::::' completer _all_matches _complete")


class Fish(Shell):
    NAME = "fish"

    def __init__(self, folder, environment):
        script = self.script(folder, "fish")
        super().__init__(folder, environment, ["fish", "--no-config", "-i"])
        self.enter(f"stty columns 1000; set -g fish_autosuggestion_enabled 0; function fish_prompt; end; . {script}; "
                   "function args; for a in $argv; printf 'ARG<%s>' $a; end; echo; end; "
                   "function listed; for a in (complete -C $argv[1]); printf 'ARG<%s>' (string split -f 1 \\t -- $a); end; echo; end")

    def completions(self, line):
        """fish has no key that inserts all of them: its command lists them."""
        quoted = "'" + line.replace("\\", "\\\\").replace("'", "\\'") + "'"
        found = re.findall(r"ARG<(.*?)>(?=ARG<|\r|\n|$)", self.enter(f"listed {quoted}"))
        return found or [line.split(" ")[-1]]


class ShellCase(AgentCase):
    """Cases of every shell; a class below has the shell."""

    SHELL = Bash

    def setUp(self):
        super().setUp()
        if not shutil.which(self.SHELL.NAME):
            self.skipTest(f"needs {self.SHELL.NAME}")
        self.store = self.path("store.db")
        fill(self, self.store)
        self.shell = self.start({"ATALAYA_STORE": self.store})

    def start(self, environment):
        shell = self.SHELL(self.folder, environment)
        self.addCleanup(shell.end)
        return shell

    def names(self, *command, member):
        done = subprocess.run([BINARY, *command, "--format", "json", "--store", self.store], capture_output=True, text=True, check=True)
        return sorted(row[member] for row in json.loads(done.stdout))


class Cases:
    def test_metrics(self):
        metrics = [name for name in self.names("metrics", member="metric") if name.startswith("self.")]
        self.assertGreater(len(metrics), 1)
        self.assertEqual(sorted(self.shell.completions("atalaya query --metric self.")), metrics)
        self.assertEqual(sorted(self.shell.completions("atalaya metrics self.")), metrics)
        self.assertEqual(sorted(self.shell.completions("atalaya plot --top 3 --metric self.")), metrics)

    def test_the_store_of_the_line_counts(self):
        shell = self.start({"ATALAYA_STORE": "/missing/store.db"})
        self.assertEqual(shell.completions("atalaya query --metric self."), ["self."])
        self.assertGreater(len(shell.completions(f"atalaya query --store {self.store} --metric self.")), 1)

    def test_names_of_processes_are_quoted_and_never_run(self):
        self.assertEqual(sorted(self.shell.completions("atalaya flamegraph --process ")), sorted(NAMES))
        for begin, name in ("tw", "two words"), ("it", "it's"), ("a", "a;touch pwned"):
            self.assertEqual(self.shell.words_after(f"atalaya flamegraph --process {begin}", "\t"), ["atalaya", "flamegraph", "--process", name])
        self.assertFalse(os.path.exists(self.path("pwned")))

    def test_tags(self):
        keys = self.names("tags", member="tag")
        self.assertIn("process", keys)
        self.assertEqual(self.shell.completions("atalaya query --tag proc"), ["process="])
        self.assertEqual(self.shell.completions("atalaya query --tag process=ja"), ["process=java"])
        self.assertEqual(self.shell.completions("atalaya query --group-by host,proc"), ["host,process"])
        self.assertEqual(self.shell.completions("atalaya tags process ja"), ["java"])
        # No space after the first: the value follows it.
        self.assertEqual(self.shell.words_after("atalaya query --tag proc", "\tja\t"), ["atalaya", "query", "--tag", "process=java"])

    def test_experiments_stores_components_words(self):
        self.assertEqual(self.shell.completions("atalaya report --experiment nig"), ["nightly sort"])
        self.assertEqual(self.shell.completions("atalaya experiment show nig"), ["nightly sort"])
        self.assertEqual(sorted(self.shell.completions("atalaya experiment s")), ["show", "start"])
        self.assertEqual(self.shell.completions("atalaya query --store st"), ["store.db"])
        self.assertEqual(self.shell.completions("atalaya try pow"), ["power"])
        self.assertEqual(self.shell.completions("atalaya try sq"), ["sq"])  # a sink
        self.assertEqual(self.shell.completions("atalaya plugins sqli"), ["sqlite"])
        self.assertEqual(self.shell.completions("atalaya query --format j"), ["json"])
        self.assertIn("--metric", self.shell.completions("atalaya query --m"))
        self.assertEqual(sorted(self.shell.completions("atalaya pl")), ["place", "plot", "plugins"])
        self.assertEqual(self.shell.completions("atalaya query --metric=self.err"), ["--metric=self.errors"])

    def test_pipeline_files(self):
        os.mkdir(self.path("pipes"))
        for name in ("pipes/own.lua", "pipes/other.txt"):
            open(self.path(name), "w").close()
        self.assertEqual(self.shell.completions("atalaya run pipes/o"), ["pipes/own.lua"])
        self.assertEqual(self.shell.completions("atalaya check pipeline.lua pipes/o"), ["pipes/own.lua"])

    def test_a_store_that_does_not_reply_does_not_hang_the_shell(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()  # connections are accepted by the kernel, and never answered
            shell = self.start({"ATALAYA_COMPLETION_TIMEOUT": "1", "ATALAYA_STORE": f"clickhouse:http://127.0.0.1:{server.getsockname()[1]}/db"})
            self.assertEqual(shell.completions("atalaya query --metric self."), ["self."])


class InBash(Cases, ShellCase):
    SHELL = Bash


class InZsh(Cases, ShellCase):
    SHELL = Zsh


class InFish(Cases, ShellCase):
    SHELL = Fish


class Command(AgentCase):
    """`atalaya complete` itself."""

    def complete(self, *words, binary=BINARY, **environment):
        done = subprocess.run([binary, "complete", "--", *words], capture_output=True, text=True, env={**os.environ, **environment})
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        files, *values = done.stdout.splitlines()
        return files, values

    def test_summaries_follow_a_tab(self):
        files, values = self.complete("doc")
        self.assertEqual((files, len(values)), ("-", 1))
        name, summary = values[0].split("\t")
        self.assertEqual(name, "doctor")
        self.assertIn(summary, subprocess.run([BINARY, "doctor", "--help"], capture_output=True, text=True, check=True).stdout)

    def test_lines_that_are_wrong_offer_nothing(self):
        for words in ("frobnicate", ""), ("query", "--frobnicate=x"), ("query", "--top", ""), ("query", "--top=1"), ("status", "x"):
            self.assertEqual(self.complete(*words), ("-", []))

    def test_bundled_pipelines(self):
        for folder in ("prefix/bin", "prefix/share/atalaya/pipelines"):
            os.makedirs(self.path(folder))
        binary = shutil.copy(BINARY, self.path("prefix/bin/atalaya"))
        bundled = self.path("prefix/share/atalaya/pipelines/profile.lua")
        open(bundled, "w").close()
        self.assertEqual(self.complete("run", "prof", binary=binary), ("*.lua", [os.path.realpath(bundled)]))
        self.assertEqual(self.complete("run", "./prof", binary=binary), ("*.lua", []))

    def test_a_store_is_not_changed(self):
        store = self.path("own/store.db")
        os.mkdir(self.path("own"))
        fill(self, store)

        def content():
            """Without the files in which SQLite's readers coordinate."""
            found = {}
            for name in sorted(os.listdir(self.path("own"))):
                if not name.endswith(("-shm", "-wal")):
                    with open(self.path("own/" + name), "rb") as file:
                        found[name] = hashlib.sha256(file.read()).hexdigest()
            return found
        before = content()
        for words in (("query", "--metric", ""), ("flamegraph", "--process", ""), ("query", "--tag", "process="), ("query", "--experiment", ""),
                      ("query", "--group-by", "")):
            files, values = self.complete(*words, ATALAYA_STORE=store)
            self.assertEqual(files, "-")
            self.assertGreater(len(values), 0)
        self.assertEqual(content(), before)

    def test_what_is_no_store_offers_nothing_and_is_left_alone(self):
        with open(self.path("text.db"), "w") as file:
            file.write("no database" * 1000)
        for store in self.path("missing/store.db"), self.path("text.db"), self.folder, "clickhouse:http://127.0.0.1:1/db":
            for words in ("query", "--metric", ""), ("flamegraph", "--process", ""), ("query", "--experiment", ""):
                self.assertEqual(self.complete(*words, ATALAYA_STORE=store), ("-", []))
        self.assertEqual(sorted(os.listdir(self.folder)), ["text.db"])

    def test_names_that_a_terminal_cannot_show_are_left_out(self):
        store = self.path("store.db")
        fill(self, store, ("plain", "\\27[31mred", "two\\nlines", "tab\\tin it", "right\\u{202e}left"))
        self.assertEqual(self.complete("flamegraph", "--process", "", ATALAYA_STORE=store), ("-", ["plain"]))


if __name__ == "__main__":
    main()
