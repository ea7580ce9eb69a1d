# SPDX-License-Identifier: Apache-2.0
"""The scripts of examples/btrace: compiled against the few names of BTrace that they use, and called as BTrace would while a task runs.
Their output becomes the expected spans. BTrace itself is not in Debian; its verifier is not part of this test."""

import glob
import os
import shutil
import subprocess
import unittest

from harness import AgentCase, main, points

ANNOTATIONS = {
    "BTrace": "", "Duration": "", "Return": "", "Self": "", "TLS": "",
    "Location": "Kind value() default Kind.ENTRY; String clazz() default \"\"; String method() default \"\";",
    "OnMethod": "String clazz(); String method() default \"\"; String type() default \"\"; Location location() default @Location;",
}
UTILS = """
package org.openjdk.btrace.core;
public class BTraceUtils {
  public static long now = 1700000000000L;
  public static void println(Object text) { System.out.println(text); }
  public static long timeMillis() { return now; }
  public static long timeNanos() { return now * 1000000L; }
  public static int indexOf(String text, String part) { return text.indexOf(part); }
  public static class Strings {
    public static int lastIndexOf(String text, String part) { return text.lastIndexOf(part); }
    public static String substr(String text, int begin, int end) { return text.substring(begin, end); }
  }
  public static class Reflective {
    public static long getLong(String name, Object object) {
      try { return object.getClass().getField(name).getLong(object); } catch (Exception e) { throw new RuntimeException(e); }
    }
  }
}
"""
DRIVER = """
import org.openjdk.btrace.core.BTraceUtils;
public class Driver {
  public static class Writer { public long compressedBytesWritten; Writer(long bytes) { compressedBytesWritten = bytes; } }
  static final long MS = 1000000L;
  static void at(long ms) { BTraceUtils.now = 1700000000000L + ms; }
  // A spill of the spill thread, then the flush: the last spill and the merge are within it, the mapper's method ends behind them.
  static void map() {
    HadoopMap.start(new String[] {"127.0.0.1", "4040", "attempt_1526555215992_0001_m_000003_1", "7"});
    at(0); HadoopMap.mapperBegins();
    HadoopMap.bytesRead(4, 77);  // the split's file, before the input
    for (int i = 0; i < 10; ++i) {
      HadoopMap.inputBytes(1000 + 100 * i); HadoopMap.bytesRead(i < 3 ? 2 : 0, 100); HadoopMap.inputBytes(1100 + 100 * i);
      HadoopMap.recordRead(true, 20 * MS);
      HadoopMap.collectBegins(); HadoopMap.bytesCollected(null, 0, 30); HadoopMap.collectEnds(10 * MS);
    }
    HadoopMap.recordRead(false, 0);
    at(500); HadoopMap.phaseBegins(); HadoopMap.fileClosed(new Writer(64)); HadoopMap.fileClosed(new Writer(36)); HadoopMap.spillEnds(50 * MS);
    at(1000); HadoopMap.outputFlushed();
    HadoopMap.phaseBegins(); HadoopMap.fileClosed(new Writer(40)); at(1100); HadoopMap.spillEnds(100 * MS);
    HadoopMap.phaseBegins(); HadoopMap.fileClosed(new Writer(77)); at(1300); HadoopMap.mergeEnds(200 * MS);
    HadoopMap.outputFlushed();  // close
    at(1310); HadoopMap.mapperEnds();
  }
  // Without reduces; of half of the bytes the file system did not report the distance.
  static void mapOnly() {
    HadoopMap.start(new String[] {"127.0.0.1", "4040", "attempt_1526555215992_0001_m_000004_0", "9"});
    at(0); HadoopMap.mapperBegins();
    HadoopMap.inputBytes(0); HadoopMap.bytesRead(2, 50); HadoopMap.inputBytes(100); HadoopMap.recordRead(true, 20 * MS);
    at(400); HadoopMap.outputFlushed();
    at(900); HadoopMap.mapperEnds();
  }
  // A collector of another class, whose flush is not seen; of a split that is no file Hadoop counts no bytes.
  static void otherCollector() {
    HadoopMap.start(new String[] {"127.0.0.1", "4040", "attempt_1526555215992_0001_m_000005_0", "10"});
    at(0); HadoopMap.mapperBegins();
    HadoopMap.inputBytes(0); HadoopMap.inputBytes(0); HadoopMap.recordRead(true, 20 * MS);
    at(900); HadoopMap.mapperEnds();
  }
  static void reduce() {
    HadoopReduce.start(new String[] {"127.0.0.1", "4040", "attempt_1526555215992_0001_r_000002_0", "8"});
    at(2000); HadoopReduce.shuffleBegins();
    HadoopReduce.outputFetched(null, null, 300, 0, 1, null); HadoopReduce.outputFetched(null, null, 200, 0, 1, null);
    at(2100); HadoopReduce.mergeBegins(); HadoopReduce.fileClosed(new Writer(5)); HadoopReduce.memoryMerged(10 * MS);
    at(2200); HadoopReduce.mergeBegins(); HadoopReduce.fileClosed(new Writer(6)); HadoopReduce.diskMerged(20 * MS);
    at(3000); HadoopReduce.sortBegins(); HadoopReduce.fileClosed(new Writer(9)); HadoopReduce.sortEnds(100 * MS);
    at(4000); HadoopReduce.reducerBegins();
    for (int i = 0; i < 3; ++i) {
      HadoopReduce.outputBytes(50 * i); HadoopReduce.outputBytes(50 * i + 50); HadoopReduce.recordWritten(40 * MS);
    }
    at(5000); HadoopReduce.outputBytes(150); at(5200); HadoopReduce.outputBytes(450); HadoopReduce.outputClosed(200 * MS);
    HadoopReduce.reducerEnds();
  }
  public static void main(String[] arguments) { map(); mapOnly(); otherCollector(); reduce(); Region.parsed(1500); }
}
"""
T0, MS = 1700000000000000000, 1000000


@unittest.skipUnless(shutil.which("javac") and shutil.which("java"), "needs a JDK: apt-get install default-jdk-headless")
class Scripts(AgentCase):
    def java(self, name, text):
        path = self.path(name + ".java")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        return path

    def compiled(self):
        base = "src/org/openjdk/btrace/core/"
        package = "package org.openjdk.btrace.core.annotations;\n"
        files = [self.java(base + "annotations/" + name, f"{package}public @interface {name} {{ {members} }}\n")
                 for name, members in ANNOTATIONS.items()]
        files += [self.java(base + "annotations/Kind", package + "public enum Kind { ENTRY, RETURN }\n"),
                  self.java(base + "types/AnyType", "package org.openjdk.btrace.core.types;\npublic class AnyType { }\n"),
                  self.java(base + "BTraceUtils", UTILS), self.java("src/Driver", DRIVER)]
        classes = self.path("classes")
        done = subprocess.run(["javac", "-Xlint:all", "-Xlint:-options", "-Werror", "--release", "8", "-d", classes, *files,
                               *glob.glob("examples/btrace/*.java")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return classes

    def test_their_lines_are_the_spans_of_the_tasks(self):
        with open(self.path("tasks.btrace"), "w") as log:
            subprocess.run(["java", "-cp", self.compiled(), "Driver"], stdout=log, check=True)
        out = self.path("samples")
        agent = self.run_agent(f"""
            local a = require "atalaya"
            a.pipeline "phases" {{ a.source.btrace {{ path = "{self.path("*.btrace")}" }},
              a.sink.file {{ path = "{out}", format = "samples" }} }}""").running()
        agent.wait_status(lambda status: agent.row("phases", "sink file", status)["out"] > 0)
        self.assertEqual(agent.stop(), 0)
        samples = points(out)
        account, = [sample["fields"] for sample in samples if sample["kind"] == "metrics"]
        self.assertEqual((account["btrace.lines"], account["btrace.lines.bad"], account["btrace.lines.plain"]), (17, 0, 0))
        spans, regions = {}, []
        for sample in samples:
            if sample["kind"] != "span":
                continue
            tags, fields = sample["tags"], sample["fields"]
            if "phase" not in tags:
                regions.append((tags["name"], fields))
                continue
            attempt = tags["attempt"]
            self.assertRegex(attempt, r"^attempt_1526555215992_0001_(m|r)_\d{6}_\d$")
            self.assertEqual((tags["framework"], tags["job"], tags["task"], tags["stage"]),
                             ("hadoop", "job_1526555215992_0001", "task_" + attempt[len("attempt_"):-2],
                              "map" if "_m_" in attempt else "reduce"))
            spans.setdefault(attempt[-10:], []).append(
                (tags["phase"], (sample["time"] - T0) // MS, sample["duration"] // MS, fields.get("span.bytes"), tags.get("source")))
            placed = tags["phase"] in ("read", "map", "collect", "reduce", "write")
            self.assertEqual(tags.get("quality"), "placed" if placed else None, tags)
            self.assertEqual(fields.get("span.bytes.remote"), 300 if (tags["phase"], attempt[-10:]) == ("read", "m_000003_1") else None, tags)
        self.assertEqual(regions, [("parse", {})])
        # The mapper's three follow one another and end where the flush begins; the spill before it is another thread's.
        self.assertEqual({attempt: sorted(phases, key=lambda phase: phase[1]) for attempt, phases in spans.items()}, {
            "m_000003_1": [("read", 0, 200, 1000, None), ("map", 200, 700, 1000, None), ("spill", 500, 50, 100, "memory"),
                           ("collect", 900, 100, 300, None), ("spill", 1000, 100, 40, "memory"), ("merge", 1100, 200, 77, "disk")],
            "m_000004_0": [("read", 0, 20, 100, None), ("map", 20, 380, 100, None)],
            "m_000005_0": [("read", 0, 20, None, None), ("map", 20, 880, None, None)],
            "r_000002_0": [("shuffle", 2000, 1000, 500, None), ("merge", 2100, 10, 5, "memory"), ("merge", 2200, 20, 6, "disk"),
                           ("sort", 3000, 100, 9, None), ("reduce", 4000, 880, 500, None), ("write", 4880, 320, 450, None)]})


main()
