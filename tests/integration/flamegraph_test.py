# SPDX-License-Identifier: Apache-2.0
"""The command flamegraph: of stored stacks, of files, and in a real browser under a real mouse."""

import html
import json
import os
import re
import subprocess
import sys
import unittest
import xml.dom.minidom

import browser
from harness import BINARY, AgentCase, main
from questions import T0, QueryCase, http, status_of

WHEN = ["--from", str(T0), "--to", str(T0 + 60)]
FOLDED = """java-1;start_thread;JavaThread::run;long W.fib(int)_[j];<init>_[j] 400
java-1;start_thread;JavaThread::run;long W.fib(int)_[j];long W.fib(int)_[j] 200
java-1;start_thread;[libjvm.so];do_futex_[k] 100
shop-2;_start;main;Cart::add(int);a;b;a 150
shop-2;_start;main;naïve "→" & co 50
shop-2;_start;main 100
"""


def total(folded):
    return sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines())


class Stored(QueryCase):
    def setUp(self):
        super().setUp()
        self.stacks(20, "h1", {"java-7;a;b;a": 3, "java-7;f_[j];do_x_[k]": 4, "shop-8;main": 8})
        self.stacks(40, "h2", {"java-7;a;b;a": 10, "java-9;f_[j]": 5})

    def stacks(self, second, host, stacks):
        http(self.hub + "/cpu", json.dumps([{"timestamp": T0 + second, "hostname": host, "stack": stack, "value": value}
                                            for stack, value in stacks.items()]).encode())

    def folded(self, *words, status=0):
        return self.atalaya("flamegraph", "--format", "folded", *(words if "--from" in words else (*WHEN, *words)), status=status)

    def test_hosts_and_windows_are_added_up(self):
        self.assertEqual(self.folded(), "java-7;a;b;a 13\njava-7;f_[j];do_x_[k] 4\njava-9;f_[j] 5\nshop-8;main 8\n")
        self.assertEqual(self.folded("--by", "name"), "java;a;b;a 13\njava;f_[j] 5\njava;f_[j];do_x_[k] 4\nshop;main 8\n")
        self.assertEqual(self.folded("--by", "host", "--process", "shop"), "h1;shop-8;main 8\n")

    def test_stacks_that_are_left_out(self):
        self.assertEqual(self.folded("--host", "h2"), "java-7;a;b;a 10\njava-9;f_[j] 5\n")
        self.assertEqual(self.folded("--process", "s*"), "shop-8;main 8\n")
        self.assertEqual(self.folded("--tag", "pid=9"), "java-9;f_[j] 5\n")
        self.assertEqual(self.folded("--from", str(T0 + 20), "--to", str(T0 + 40), "--process", "java"), "java-7;a;b;a 10\njava-9;f_[j] 5\n")
        self.assertEqual(total(self.folded("--keep", "jvm")), 22)
        self.assertEqual(total(self.folded("--keep", "app")), 17)
        self.assertEqual(self.folded("--keep", "kernel"), "java-7;f_[j];do_x_[k] 4\n")

    def test_nothing_is_no_picture_and_leaves_the_one_that_is_there(self):
        with open(self.path("good.svg"), "w") as file:
            file.write("good")
        for words, said in (((*WHEN, "--process", "jaba"), 'no stacks from 2023-11-14 22:13:20 to 2023-11-14 22:14:20 UTC of process "jaba"; did you mean "java"?'),
                            ((*WHEN, "--process", "nothing-like-it"), 'of process "nothing-like-it"; available: java, shop'),
                            ((*WHEN, "--host", "h3"), "with these tags"),
                            ((*WHEN, "--process", "shop", "--keep", "kernel"), "--keep kernel matches none"),
                            ((*WHEN, "--profile", "offcpu"), 'source perf collects them with profile = "offcpu" at the end of each window'),
                            (("--from", "2001-01-01", "--to", "2001-01-02"), "pipelines/profile.lua: after the first whole minute"),
                            (("--folded", os.devnull), "no stacks in /dev/null")):
            self.atalaya("flamegraph", *words, "-o", self.path("good.svg"), status=1)
            self.assertIn(said, self.errors)
            self.assertIn(f'; {self.path("good.svg")} is not written', self.errors)
        with open(self.path("good.svg")) as file:
            self.assertEqual(file.read(), "good")
        self.assertEqual(self.folded("--profile", "offcpu", status=1), "")

    def test_stacks_that_end_early_are_reported(self):
        early = "make-1;[unwind failed];[unknown] 6\nmake-1;main 4\n"
        self.atalaya("flamegraph", "--folded", "-", "-o", self.path("early.svg"), input=early.encode())
        self.assertEqual(self.errors.count("\n"), 2, self.errors)  # and the written file
        self.assertIn('60 % of the samples have incomplete stacks', self.errors)
        self.assertIn('unwind = "auto"', self.errors)
        with open(self.path("early.svg")) as file:
            self.assertIn("red: libraries, orange: kernel, grey: unknown", file.read())
        self.folded()
        self.assertEqual(self.errors, "")

    def test_the_table_has_the_numbers_of_the_picture(self):
        with open(self.path("in.folded"), "w") as file:
            file.write(FOLDED)
        words = ("--folded", self.path("in.folded"))
        drawn = re.findall(r'<g data-p="(\S+) (\S+?)"(?: data-s="[^"]*")?><title>(.*?) \([^(]*, (\S+) %\)</title><rect x="\S+" y="(\S+)"',
                           self.atalaya("flamegraph", *words))
        frames = sorted((float(y), float(begin), float(value), html.unescape(name), share) for begin, value, name, share, y in drawn)
        own, shares, rows = {}, {}, sorted({frame[0] for frame in frames}, reverse=True)
        for y, begin, value, name, share in frames:
            if rows.index(y) < 2:  # the root and the processes
                continue
            above = rows[rows.index(y) + 1] if rows.index(y) + 1 < len(rows) else None
            inner = sum(frame[2] for frame in frames if frame[0] == above and begin <= frame[1] < begin + value)
            own[name] = own.get(name, 0) + value - inner
            shares.setdefault(name, []).append(share)
        table = {}
        for line in self.atalaya("flamegraph", "--format", "table", *words).splitlines()[1:]:
            self_value, self_share, _, total_share, name = line.split(None, 4)
            table[name] = (float(self_value), self_share, total_share)
        self.assertEqual({name: row[0] for name, row in table.items()}, own)
        self.assertEqual(sum(own.values()), total(FOLDED))
        for name, found in shares.items():
            self.assertEqual(table[name][1], f"{100 * own[name] / total(FOLDED):.2f}")
            if len(found) == 1:
                self.assertEqual(table[name][2], found[0])

    def test_json_has_the_same_sums(self):
        tree = json.loads(self.atalaya("flamegraph", "--format", "json", *WHEN))
        self.assertEqual((tree["name"], tree["value"]), ("all", 30))
        self.assertEqual({child["name"]: child["value"] for child in tree["children"]}, {"java-7": 17, "java-9": 5, "shop-8": 8})

    def test_a_comparison_with_another_time(self):
        words = ["--from", str(T0 + 20), "--to", str(T0 + 40), "--diff", f"{T0}:{T0 + 20}"]
        self.assertEqual(self.folded(*words), "java-7;a;b;a 3 10\njava-7;f_[j];do_x_[k] 4 0\njava-9;f_[j] 0 5\nshop-8;main 8 0\n")
        self.atalaya("flamegraph", *words, "-o", self.path("diff.svg"))
        with open(self.path("diff.svg")) as file:
            self.assertIn("<title>java-7 (10 samples, 66.67 %, before 46.67 %, +20.00)</title>", file.read())

    def test_a_comparison_with_an_experiment_and_times_of_it(self):
        """Also `..`, and all times that other options take."""
        self.atalaya("experiment", "start", "before", "--at", str(T0))
        self.atalaya("experiment", "end", "before", "--at", str(T0 + 20))
        words = ["--from", "before+20s", "--to", "before+40s"]
        expected = self.folded(*words, "--diff", f"{T0}:{T0 + 20}")
        self.assertEqual(expected, "java-7;a;b;a 3 10\njava-7;f_[j];do_x_[k] 4 0\njava-9;f_[j] 0 5\nshop-8;main 8 0\n")
        for text in ("before", "before+0s..before+20s", "before+0s:before+20s", f"{T0}..before+20s", f"2001-01-01..{T0 + 20}"):
            self.assertEqual(self.folded(*words, "--diff", text), expected, text)
        self.folded(*words, "--diff", "yesterday..10m")
        self.assertIn("nothing to compare with", self.errors)

    def test_an_experiment(self):
        for verb, second in (("start", 30), ("end", 50)):
            self.atalaya("experiment", verb, "tera", "--at", str(T0 + second))
        self.assertEqual(total(self.atalaya("flamegraph", "--experiment", "tera", "--format", "folded")), 15)

    def test_refused_arguments(self):
        for words, said in ((["--diff", "yesterday"], "is no range"), (["--diff", "tera"], 'experiment "tera" is not in the store'),
                            (["--folded", "x", "--host", "h1"], "--folded uses all stacks"),
                            (["-o", "x.png"], "unknown suffix; use .svg, .folded, .json or .pb.gz"),
                            (["--format", "pprof", "--diff", "-2h..-1h"], "--format pprof has one side only"),
                            (["--profile", "gpu"], "gpu")):
            self.atalaya("flamegraph", *words, status=2)
            self.assertIn(said, self.errors)
        self.atalaya("flamegraph", "--folded", self.path("none"), status=1)
        self.assertIn("No such file or directory", self.errors)

    def test_files_of_others(self):
        self.assertEqual(total(self.atalaya("flamegraph", "--folded", "-", "--format", "folded", input=FOLDED.encode())), 1000)
        with open(self.path("broken"), "w") as file:
            file.write("a;b 1\nno number\n\nneither\n")
        self.assertEqual(self.atalaya("flamegraph", "--folded", self.path("broken"), "--format", "folded"), "a;b 1\n")
        self.assertIn(f'{self.path("broken")}:2: not a folded stack ("a;b;c 12"); lines skipped: 2', self.errors)

    def pprof(self, *words):
        self.atalaya("flamegraph", *words, "-o", self.path("profile.pb.gz"))
        return self.listing(self.path("profile.pb.gz"))

    def listing(self, source):
        """The raw listing of `go tool pprof`: stacks of function names, root first, with value and labels."""
        text = subprocess.run(["go", "tool", "pprof", "-raw", source], capture_output=True, text=True, check=True,
                              env={**os.environ, "HOME": self.path("")}, timeout=60).stdout
        samples, locations = text[text.index("Samples:"):].split("Locations\n")
        names = {}
        for line in locations.split("Mappings")[0].splitlines():
            found = re.match(r" *(\d+): 0x0 (?:M=\d+ )?(.*?) :0", line)
            if found:
                names[found.group(1)] = found.group(2)
        result = []
        for line in samples.splitlines()[2:]:
            if found := re.match(r" +(\d+): ([\d ]*)$", line):
                result.append([tuple(names[id] for id in reversed(found.group(2).split())), int(found.group(1)), None])
            elif label := re.match(r" +process:\[(.*)\]", line):
                result[-1][2] = label.group(1)
        return text, sorted(tuple(sample) for sample in result)

    def test_pprof_reads_each_stack_and_value(self):
        text, samples = self.pprof(*WHEN)
        self.assertEqual(samples, [(("a", "b", "a"), 13, "java-7"), (("f_[j]",), 5, "java-9"),
                                   (("f_[j]", "do_x_[k]"), 4, "java-7"), (("main",), 8, "shop-8")])
        self.assertIn("samples/count", text)
        self.assertIn("Duration: 1m0s", text)
        with open(self.path("x.folded"), "w") as file:
            file.write(FOLDED)
        _, samples = self.pprof("--folded", self.path("x.folded"))
        self.assertEqual(sum(value for _, value, _ in samples), 1000)
        self.assertIn((("_start", "main", 'naïve "→" & co'), 50, "shop-2"), samples)

    def test_pprof_fetches_a_profile_from_serve(self):
        address = f"{self.serve()}/debug/pprof/profile"
        self.assertEqual(self.listing(f"{address}?from={T0}&to={T0 + 60}")[1], self.pprof(*WHEN)[1])
        _, samples = self.listing(f"{address}?from={T0}&to={T0 + 60}&host=h2&process=java&pid=9")
        self.assertEqual(samples, [(("f_[j]",), 5, "java-9")])
        for query, status in (("seconds=30", 404), ("seconds=x", 400), ("profile=gpu", 400), (f"from={T0}&to={T0 + 60}", 200)):
            self.assertEqual(status_of(f"{address}?{query}"), status, query)

    def test_speedscope_has_a_profile_for_each_process(self):
        self.atalaya("flamegraph", *WHEN, "--format", "speedscope", "-o", self.path("x.json"))
        with open(self.path("x.json")) as file:
            data = json.load(file)
        stacks = {}
        for profile in data["profiles"]:
            self.assertEqual(profile["type"], "sampled")
            self.assertEqual(sum(profile["weights"]), profile["endValue"])
            for sample, weight in zip(profile["samples"], profile["weights"], strict=True):
                stacks[(profile["name"], *(data["shared"]["frames"][i]["name"] for i in sample))] = weight
        self.assertEqual(stacks, {("java-7", "a", "b", "a"): 13, ("java-7", "f_[j]", "do_x_[k]"): 4, ("java-9", "f_[j]"): 5,
                                  ("shop-8", "main"): 8})

    def test_very_deep_and_very_wide(self):
        with open(self.path("large"), "w") as file:
            file.write("f;" * 500_000 + "f 5\n")
            file.writelines(f"a;g{i} 1\n" for i in range(300_000))
        self.atalaya("flamegraph", "--folded", self.path("large"), "-o", self.path("large.svg"))
        self.assertIn("with their first frames only", self.errors)
        self.assertLess(os.path.getsize(self.path("large.svg")), 10_000_000)
        with open(self.path("large.svg")) as file:
            self.assertIn("<title>all (300,005 samples, 100.00 %)</title>", file.read())


@unittest.skipUnless(os.geteuid() == 0, "sampling other processes takes root")
class Profiled(AgentCase):
    """The bundled pipelines, in windows of a second: running programs are in the picture of the store that they fill."""

    def setUp(self):
        super().setUp()
        with open(self.path("spin.py"), "w") as file:
            file.write("while True: sum(range(1000))\n")
        self.child = subprocess.Popen([sys.executable, self.path("spin.py")])

    def tearDown(self):
        self.child.kill()
        self.child.wait()
        super().tearDown()

    def test_the_default(self):
        self.check("pipelines/profile.lua")

    def test_the_aggressive_one(self):
        self.check("pipelines/aggressive.lua")

    def check(self, path):
        with open(path) as file:
            agent = self.run_agent(re.sub(r'every = "\d+s"', 'every = "1s"', file.read())).running()
        self.wait_for_stacks(agent, self.child.pid)
        agent.stop()

    def wait_for_stacks(self, agent, pid):
        """By the name that the pipeline of processes has for it: that of the script."""
        words = [BINARY, "flamegraph", "--store", self.path("atalaya.db"), "--process", "spin.py", "--format", "json"]
        names = set()

        def sampled(_):
            asked = subprocess.run(words, capture_output=True, check=False)
            self.assertIn(asked.returncode, (0, 1), asked.stderr)  # 1: there are none yet
            tree = json.loads(asked.stdout or b'{"value": 0, "children": []}')
            names.update(child["name"] for child in tree["children"])
            return tree["value"] >= 50
        agent.wait_status(sampled)
        self.assertEqual(names, {f"spin.py-{pid}"})


@unittest.skipUnless(browser.BINARY, "no browser: chromium")
class Picture(QueryCase):
    def setUp(self):
        super().setUp()
        self.page = browser.Browser()
        self.addCleanup(self.page.close)

    def show(self, *words, folded=FOLDED):
        self.atalaya("flamegraph", "--folded", "-", "-o", self.path("picture.svg"), *words, input=folded.encode())
        self.page.open(self.path("picture.svg"))

    def tearDown(self):
        self.assertEqual(self.page.errors, [])
        super().tearDown()

    def frames(self):
        """Visible frames: name -> (x, y, width) of its widest frame."""
        found = self.page.value("""[...document.querySelectorAll('.frames g')].filter(g => g.getAttribute('display') !== 'none').map(g => {
            const box = g.querySelector('rect').getBoundingClientRect(), title = g.querySelector('title').textContent;
            return [title.replace(/ [(][^(]*[)]$/, ''), box.x, box.y, box.width]; })""")
        return {name: (x, y, width) for name, x, y, width in sorted(found, key=lambda frame: frame[3])}

    def middle(self, name):
        x, y, width = self.frames()[name]
        return x + width / 2, y + 7

    def text(self, name):
        return self.page.value(f"document.querySelector('.{name}').textContent")

    def is_shown(self, name):
        return self.page.value(f"document.querySelector('.{name}').getAttribute('display') !== 'none'")

    def test_totals_are_those_of_the_input(self):
        self.show()
        values = self.page.value("[...document.querySelectorAll('.frames g')].map(g => g.dataset.p.split(' ').map(Number))")
        self.assertEqual(values[0], [0, total(FOLDED)])
        frames = self.frames()
        for name, share in (("java-1", 0.7), ("shop-2", 0.3), ("<init>_[j]", 0.4), ("do_futex_[k]", 0.1), ('naïve "→" & co', 0.05)):
            self.assertAlmostEqual(frames[name][2], 1180 * share, delta=1.5, msg=name)

    def test_a_click_zooms_and_reset_goes_back(self):
        self.show()
        before = self.frames()
        self.assertFalse(self.is_shown("reset"))
        self.page.click(*self.middle("Cart::add(int)"))
        zoomed = self.frames()
        self.assertEqual(set(zoomed), {"all", "shop-2", "_start", "main", "Cart::add(int)", "a", "b"})
        for name in zoomed:
            self.assertAlmostEqual(zoomed[name][2], 1180, delta=1.5, msg=name)
        self.assertTrue(self.is_shown("reset"))
        self.page.click(*self.middle("shop-2"))  # one that is around it
        self.assertAlmostEqual(self.frames()["Cart::add(int)"][2], 1180 / 2, delta=1.5)
        box = self.page.value("(() => { const box = document.querySelector('.reset').getBoundingClientRect(); return [box.x + 5, box.y + 5]; })()")
        self.page.click(*box)
        self.assertFalse(self.is_shown("reset"))
        after = self.frames()
        self.assertEqual(set(after), set(before))
        for name in before:
            self.assertAlmostEqual(after[name][2], before[name][2], delta=0.2)
            self.assertAlmostEqual(after[name][0], before[name][0], delta=0.2)

    def test_the_root_resets_too_and_recursion_zooms_in_place(self):
        self.show()
        self.page.click(*self.middle("long W.fib(int)_[j]"))
        inner = self.page.value("""[...document.querySelectorAll('.frames g')].filter(g => g.querySelector('title').textContent.startsWith('long W.fib')
            && g.getAttribute('display') !== 'none').map(g => g.querySelector('rect').width.baseVal.value)""")
        self.assertEqual(len(inner), 2)
        self.assertAlmostEqual(min(inner) / max(inner), 200 / 600, delta=0.01)
        self.page.click(*self.middle("all"))
        self.assertFalse(self.is_shown("reset"))
        self.assertIn("shop-2", self.frames())

    def search(self, text):
        box = self.page.value("(() => { const box = document.querySelector('input').getBoundingClientRect(); return [box.x + 20, box.y + 8]; })()")
        self.page.click(*box)
        self.page.value("document.querySelector('input').select()")
        self.page.write(text)

    def found(self):
        return set(self.page.value("[...document.querySelectorAll('.frames .found title')].map(t => t.textContent.replace(/ [(][^(]*[)]$/, ''))"))

    def test_search_marks_frames_and_shows_their_share(self):
        self.show()
        self.search("W.fib")
        self.assertEqual(self.found(), {"long W.fib(int)_[j]"})
        self.assertEqual(self.text("matched"), "Matched: 60.00 %")  # not 80: one within the other counts once
        colour = self.page.value("getComputedStyle(document.querySelector('.found rect')).fill")
        self.assertEqual(colour, "rgb(224, 64, 251)")
        self.search("^(a|do_.*)$")
        self.assertEqual(self.found(), {"a", "do_futex_[k]"})
        self.assertEqual(self.text("matched"), "Matched: 25.00 %")
        self.search("Cart::add(")  # no regular expression, so a text
        self.assertEqual(self.found(), {"Cart::add(int)"})
        self.assertEqual(self.text("matched"), "Matched: 15.00 %")
        self.search("nothing has this name")
        self.assertEqual(self.found(), set())
        self.assertEqual(self.text("matched"), "Matched: 0.00 %")

    def test_the_mouse_shows_the_frame_below_it(self):
        self.show()
        legend = self.text("about")
        self.assertIn("green: application", legend)
        self.page.hover(*self.middle("<init>_[j]"))
        self.assertEqual(self.text("about"), "<init>_[j] (400 samples, 40.00 %)")
        self.page.hover(5, 5)
        self.assertEqual(self.text("about"), legend)

    def test_an_icicle_zooms_as_well(self):
        self.show("--icicle")
        frames = self.frames()
        self.assertLess(frames["all"][1], frames["main"][1])
        self.page.click(*self.middle("main"))
        self.assertEqual(set(self.frames()), {"all", "shop-2", "_start", "main", "Cart::add(int)", "a", "b", 'naïve "→" & co'})

    def test_labels_fit_the_available_room(self):
        label = lambda: self.page.value("""[...document.querySelectorAll('.frames g')].filter(g => g.querySelector('title').textContent.startsWith('naïve'))
            .map(g => g.querySelector('text') && g.querySelector('text').textContent)[0]""")
        self.show()
        self.assertRegex(label(), r"^naïve.*…$")
        self.page.click(*self.middle('naïve "→" & co'))
        self.assertEqual(label(), 'naïve "→" & co')

    def test_names_do_nothing_and_the_document_is_xml(self):
        self.show(folded='a;</title><script>document.title="x"</script> 5\na;]]><b onclick="x">&amp; 5\n')
        self.assertEqual(self.page.value("document.querySelectorAll('script').length"), 1)
        self.assertIn('</title><script>document.title="x"</script>', self.frames())
        with open(self.path("picture.svg")) as file:
            text = file.read()
        xml.dom.minidom.parseString(text)
        self.assertEqual(set(re.findall(r"https?://[^\"<]*", text)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})


main()
