// SPDX-License-Identifier: Apache-2.0
// A folder with pipeline files, and a plugin made for the tests: source `pull` and `push`, translator `label`, filter `limit`, sink
// `store`.
#pragma once

#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "core/config/load.h"
#include "core/plugin/registry.h"
#include "tests/unit/temporary_folder.h"

namespace config_test {

using namespace atalaya::literals;

class Folder : public atalaya::testing::TemporaryFolder {
 public:
  std::string write(const std::string &name, const std::string &text) const {
    std::ofstream(*this / name, std::ios::binary) << text;
    return *this / name;
  }
};

struct Pull final : atalaya::Source {
  static constexpr atalaya::Param params[] = {
      {.name = "processes"_str, .type = ATALAYA_BOOL, .default_text = "true"_str, .summary = "Processes."_str}};
  static constexpr atalaya::Description description = {
      .name = "pull"_str, .summary = "A source that is asked."_str, .params = params};
  explicit Pull(atalaya::Host) {}
  atalaya::Code collect(const atalaya::Window &, atalaya::Batch &) override { return atalaya::Code::ok; }
};
struct Push final : atalaya::PushSource {
  static constexpr atalaya::Description description = {.name = "push"_str, .summary = "Push source of the tests"_str};
  explicit Push(atalaya::Host) {}
  atalaya::Code run() override { return atalaya::Code::end; }
  void interrupt() noexcept override {}
  void acked(uint64_t, atalaya::Code) noexcept override {}
};
// Gives each sample the tag `team`.
struct Names final : atalaya::Translator {
  static constexpr atalaya::Param params[] = {
      {.name = "team"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "The team."_str}};
  static constexpr atalaya::Description description = {.name = "label"_str, .summary = "Names things."_str, .params = params};
  explicit Names(atalaya::Host host) : team_(host.text("team")), key_(host.intern("team")) {}
  atalaya::Code process(const atalaya::Window &, atalaya::Batch &batch) override {
    for (auto &sample : batch.samples()) batch.tag(sample, key_, team_);
    return atalaya::Code::ok;
  }
  std::string team_;
  uint32_t key_;
};
struct Limit final : atalaya::Filter {
  static constexpr atalaya::Param params[] = {
      {.name = "*"_str, .type = ATALAYA_NUMBER, .allowed = "*.*"_str, .summary = "A threshold."_str},
      {.name = "absent"_str,
       .type = ATALAYA_ENUM,
       .default_text = "drop"_str,
       .allowed = "drop|pass"_str,
       .summary = "Absent."_str}};
  static constexpr atalaya::Description description = {.name = "limit"_str, .summary = "Drops all."_str, .params = params};
  explicit Limit(atalaya::Host) {}
  atalaya::Code process(const atalaya::Window &, atalaya::Batch &batch) override {
    batch.truncate(0);
    return atalaya::Code::ok;
  }
};
struct Store final : atalaya::Sink {
  static constexpr atalaya::Param params[] = {
      {.name = "path"_str, .type = ATALAYA_STRING, .unit = "output file"_str, .summary = "A file."_str}};
  static constexpr atalaya::Description description = {.name = "store"_str, .summary = "Keeps."_str, .params = params};
  explicit Store(atalaya::Host) {}
  atalaya::Code write(std::span<const atalaya::Sample>, int64_t &) override { return atalaya::Code::ok; }
  atalaya::Code flush(int64_t) override { return atalaya::Code::ok; }
};

inline atalaya::core::Registry registry() {
  static constexpr atalaya_plugin plugin = atalaya::detail::make_plugin<Pull, Push, Names, Limit, Store>("test"_str, "1.0.0"_str);
  auto opened = atalaya::core::Plugin::from_descriptor(&plugin, "test.so");
  REQUIRE_MESSAGE(opened.ok(), opened.error());
  atalaya::core::Registry result;
  result.add(*opened);
  return result;
}

inline std::string library() {
  return (std::filesystem::current_path() / "lua").string();
}

}  // namespace config_test
