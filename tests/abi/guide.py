# SPDX-License-Identifier: Apache-2.0
"""Runs every command of docs/tutorial/write-a-plugin.md, in order, against an installed Atalaya; then checks the results.

usage: guide.py SOURCE BUILD. /usr in the commands is a prefix of the test's own."""

import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE, BUILD = (os.path.abspath(path) for path in sys.argv[1:])
PLUGINS = ("load/build/plugins/load.so", "files/build/plugins/files.so", "uptime/build/plugins/uptime.so")


def install(prefix):
    for component in ("atalaya", "dev"):
        subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix, "--component", component], check=True, stdout=subprocess.DEVNULL)


def commands(prefix):
    with open(os.path.join(SOURCE, "docs/tutorial/write-a-plugin.md")) as file:
        blocks = re.findall(r"(?ms)^```sh\n(.*?)^```", file.read())
    assert len(blocks) >= 5, "the guide has lost its commands"
    return "set -eux\n" + "\n".join(blocks).replace("/usr/", prefix + "/")


LIBRARIES_CMAKE = """cmake_minimum_required(VERSION 3.25)
project(words VERSION 1.0.0 LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(Atalaya 0.1 REQUIRED)
atalaya_add_plugin(words SOURCES words.cpp LIBRARIES Atalaya::match Atalaya::procfs)
"""
LIBRARIES_SOURCE = """#include <atalaya/plugin.hpp>
#include "core/base/files.h"
#include "plugins/shared/io/match/matcher.h"
#include "plugins/shared/host/procfs/process_stat.h"

using namespace atalaya::literals;
constexpr atalaya::Metric kMetrics[] = {{.name = "words.found"_str, .kind = ATALAYA_GAUGE, .summary = "Processes found."_str}};

class Words final : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {.name = "words"_str, .summary = "Find this process"_str, .metrics = kMetrics};
  explicit Words(atalaya::Host host) : found_(host.intern("words.found")) {}
  atalaya::Code collect(const atalaya::Window &, atalaya::Batch &batch) override {
    auto text = atalaya::core::read_file("/proc/self/stat", 4096);
    const auto stat = text ? atalaya::procfs::ProcessStat::parse(*text) : std::nullopt;
    auto matcher = atalaya::io::Matcher::parse("~^.+$");
    batch.field(batch.add(ATALAYA_METRICS, 0, 1), found_, int64_t{stat && matcher && matcher->matches(stat->name())});
    return atalaya::Code::ok;
  }

 private:
  uint32_t found_;
};
ATALAYA_PLUGIN("words", "1.0.0", "source words", Words)
"""


def check_libraries(work, environment):
    """A plugin that links the libraries of atalaya-dev."""
    folder = os.path.join(work, "words")
    os.mkdir(folder)
    for name, text in (("CMakeLists.txt", LIBRARIES_CMAKE), ("words.cpp", LIBRARIES_SOURCE)):
        with open(os.path.join(folder, name), "w") as file:
            file.write(text)
    steps = "set -e; cmake -B build; cmake --build build; atalaya try words --plugins build/plugins --windows 2 --every 100ms --format json"
    ran = subprocess.run(["sh", "-c", steps], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert ran.returncode == 0 and re.search(r'"words.found":\s*1\b', ran.stdout), ran.stdout


def main():
    os.umask(0o022)
    with tempfile.TemporaryDirectory(prefix="atalaya-guide-") as folder:
        prefix, work = os.path.join(folder, "prefix"), os.path.join(folder, "work")
        os.mkdir(work)
        install(prefix)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATALAYA")}
        environment.update(PATH=f"{prefix}/bin:{environment['PATH']}", CMAKE_PREFIX_PATH=prefix, CMAKE_COMPILE_WARNING_AS_ERROR="ON",
                           CMAKE_GENERATOR="Ninja",  # the default, make, is not needed for anything else
                           STATE_DIRECTORY=folder, RUNTIME_DIRECTORY=folder)
        ran = subprocess.run(["sh", "-c", commands(prefix)], cwd=work, env=environment, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT)
        assert ran.returncode == 0, ran.stdout
        for said in ("load; host ", "files; host ", "uptime; host "):  # by try
            assert said in ran.stdout, said + " is not in:\n" + ran.stdout
        assert "FAILED" not in ran.stdout, ran.stdout
        with open(os.path.join(work, "load.jsonl")) as file:
            points = [json.loads(line) for line in file]
        assert points and all(point["metric"] == "load.one" and point["value"] >= 0 for point in points), points
        assert os.path.exists(os.path.join(prefix, "lib/atalaya/load.so")), "not installed"
        check_libraries(work, environment)
        subprocess.run([os.path.join(SOURCE, "tests/abi/exports.sh"), *(os.path.join(work, path) for path in PLUGINS)], check=True)


if __name__ == "__main__":
    main()
