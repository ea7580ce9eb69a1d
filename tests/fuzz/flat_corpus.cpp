// SPDX-License-Identifier: Apache-2.0
// Writes the corpora of flat records (flat and receive_body) into tests/fuzz/corpus, the first argument: after the format changed.
#include <cstdio>
#include <fstream>
#include <string>

#include "core/base/encode/flat.h"
#include "tests/unit/core/sample/sample_maker.h"

using namespace atalaya::core;
using atalaya::core::testing::Maker;

namespace {

std::string record_of(Maker &maker) {
  std::string record;
  if (!encode_flat(maker.batch.raw(), maker.symbols, record).ok()) record.clear();
  return record;
}

atalaya_metric_info rate() {
  return {sizeof(atalaya_metric_info), ATALAYA_RATE, 2, 0, {"%", 1}, {"User time.", 10}, {"stat", 4}};
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  const auto write = [&](const std::string &name, const std::string &bytes) {
    std::ofstream(folder + "/flat/" + name, std::ios::binary) << bytes;
    // The first byte is the form and the encoding of the body.
    std::ofstream(folder + "/receive_body/flat_" + name, std::ios::binary) << '\3' + bytes;
  };
  Maker empty;
  write("empty", record_of(empty));
  Maker no_tags;
  no_tags.field(no_tags.add(ATALAYA_METRICS, {}), "proc.cpu.user", 1.5);
  write("no_tags", record_of(no_tags));
  Maker process;
  process.symbols.declare("proc.cpu.user", rate(), "corpus");
  atalaya_sample &sample = process.add(ATALAYA_METRICS, {{"host", "vm"}, {"pid", "8860"}, {"process", "java"}});
  process.field(sample, "proc.cpu.user", 99.4);
  process.count(sample, "proc.threads", 31);
  write("process", record_of(process));
  Maker both;
  both.count(both.add(ATALAYA_STACK, {{"host", "vm"}, {"profile", "cpu"}}, "java-18714;start_thread"), "profile.samples", 6);
  both.add(ATALAYA_SPAN, {{"job", "j1"}}, "map").duration_ns = -1;
  write("stack_and_span", record_of(both));
  write("two_records", record_of(process) + record_of(both));
  write("torn_second", record_of(process) + record_of(both).substr(0, 100));
  return 0;
}
