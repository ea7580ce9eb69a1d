// SPDX-License-Identifier: Apache-2.0
// A collector on a recorded tree or the real host, and its samples by pid.
#pragma once

#include "plugins/sources/proc/process/process_collector.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "tests/unit/sources/proc/process_test_host.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::proc {

// A copy of a recorded tree that the test may change.
class Tree : public testing::TemporaryFolder {
 public:
  explicit Tree(const std::string &name) {
    std::filesystem::copy("tests/fixtures/proc/" + name, path(), std::filesystem::copy_options::recursive);
  }

  std::string read(const std::string &file) const {
    std::ifstream in(*this / file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // Into the file that is there, as a kept descriptor sees it.
  void write(const std::string &file, const std::string &text) const {
    std::filesystem::create_directories(std::filesystem::path(*this / file).parent_path());
    std::ofstream(*this / file, std::ios::binary) << text;
  }
  void replace(const std::string &file, const std::string &from, const std::string &to) const {
    std::string text = read(file);
    const size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write(file, text.replace(at, from.size(), to));
  }
  void remove(const std::string &file) const { std::filesystem::remove_all(*this / file); }
};

struct Seen {
  std::map<std::string, std::string> tags;
  std::map<std::string, double> fields;
  std::optional<double> field(const std::string &name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::nullopt : std::optional(found->second);
  }
};

class Collector {
 public:
  explicit Collector(ProcessOptions options) : collector_(host.host(), std::move(options)) { collector_.start(); }

  // The samples of live processes by pid; the others are in `without_pid`, by name. Each must be as declared.
  std::map<std::string, Seen> collect(uint32_t flags = 0) {
    batch_.clear();
    without_pid.clear();
    Batch wrapped(host.host(), &batch_.raw());
    collector_.collect(host.next_window(flags), wrapped);
    std::map<std::string, Seen> all;
    for (const Sample &sample : wrapped.samples()) {
      Seen seen;
      for (uint32_t i = 0; i < sample.tag_count; ++i)
        seen.tags[std::string(host.name(sample.tags[i].key))] = view(sample.tags[i].value);
      for (uint32_t i = 0; i < sample.field_count; ++i) {
        check_declared(sample.fields[i]);
        seen.fields[std::string(host.name(sample.fields[i].name))] = as_double(sample.fields[i]);
      }
      if (seen.tags.count("pid") != 0)
        REQUIRE(all.emplace(seen.tags.at("pid"), seen).second);
      else
        without_pid.emplace(seen.tags.at("process"), seen);  // of those that ended, one for each parent and cgroup
    }
    return all;
  }

  TestHost host;
  std::map<std::string, Seen> without_pid;

 private:
  void check_declared(const atalaya_field &field) {
    const std::string_view name = host.name(field.name);
    const auto declared = std::find_if(kProcessMetrics.begin(), kProcessMetrics.end(),
                                       [&](const Metric &metric) { return view(metric.name) == name; });
    REQUIRE(declared != kProcessMetrics.end());
    REQUIRE((declared->decimals < 0) == (field.type == ATALAYA_I64));
    if (field.type == ATALAYA_F64) REQUIRE(field.value.f64 == round_to(field.value.f64, declared->decimals));
  }

  ProcessCollector collector_;
  core::Batch batch_;
};

}  // namespace atalaya::proc
