// SPDX-License-Identifier: Apache-2.0
// A host for collectors under test, with a clock that the test sets, and a root folder that changes from one recorded state to the
// next.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::proc::test {

constexpr int64_t kSecond = 1'000'000'000;

class FakeHost {
 public:
  FakeHost() {
    table_.struct_size = sizeof(table_);
    table_.self = this;
    table_.log = [](void *self, int32_t, atalaya_str text) { of(self).log.emplace_back(view(text)); };
    table_.intern = [](void *self, atalaya_str name) { return of(self).symbols_.intern(view(name)); };
    table_.metric_of = [](void *, uint32_t, atalaya_metric_info *) -> int32_t { return ATALAYA_NOTHING; };
    table_.declare_metric = [](void *, const atalaya_metric *, uint32_t) -> int32_t { return ATALAYA_OK; };
    table_.now = [](void *self, int32_t) { return of(self).now_ns; };
    table_.allocate = [](void *, atalaya_batch *batch, uint64_t size, uint64_t alignment) {
      return static_cast<core::Batch *>(batch->arena)->arena().allocate(size, alignment);
    };
    table_.reserve_samples = [](void *, atalaya_batch *batch, uint64_t more) {
      static_cast<core::Batch *>(batch->arena)->reserve_samples(more);
      return int32_t{ATALAYA_OK};
    };
  }
  Host host() { return Host(&table_); }
  std::string_view name(uint32_t id) const { return symbols_.name(id); }

  int64_t now_ns = kSecond;
  std::vector<std::string> log;

 private:
  static FakeHost &of(void *self) { return *static_cast<FakeHost *>(self); }
  core::Symbols symbols_;
  atalaya_host table_{};
};

// One sample, by the names of its tags and fields.
struct Seen {
  std::map<std::string, std::string, std::less<>> tags;
  std::map<std::string, double, std::less<>> fields;

  std::optional<double> operator[](std::string_view name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? std::nullopt : std::optional(found->second);
  }
};

template <class Collector>
std::vector<Seen> collect(FakeHost &fake, Collector &collector, core::Batch &batch, uint32_t flags = 0) {
  batch.clear();
  Window window{};
  window.struct_size = sizeof(window);
  window.flags = flags;
  window.monotonic_ns = fake.now_ns;
  Batch wrapped(fake.host(), &batch.raw());
  collector.collect(window, wrapped);
  std::vector<Seen> result;
  for (const Sample &sample : wrapped.samples()) {
    Seen seen;
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      seen.tags.emplace(fake.name(sample.tags[i].key), std::string(view(sample.tags[i].value)));
    for (uint32_t i = 0; i < sample.field_count; ++i)
      seen.fields.emplace(fake.name(sample.fields[i].name), as_double(sample.fields[i]));
    result.push_back(std::move(seen));
  }
  return result;
}

// The sample with the tag, or without any tags the one that has the field. Empty when there is none.
inline Seen with_tag(const std::vector<Seen> &samples, std::string_view key, std::string_view value) {
  for (const Seen &seen : samples)
    if (const auto found = seen.tags.find(key); found != seen.tags.end() && found->second == value) return seen;
  return {};
}
inline Seen with_field(const std::vector<Seen> &samples, std::string_view name) {
  for (const Seen &seen : samples)
    if (seen[name]) return seen;
  return {};
}

class TempRoot : public testing::TemporaryFolder {
 public:
  // Writes into the files that are there, as the kernel does: kept descriptors see the new text.
  void write(const std::string &name, std::string_view text) {
    std::filesystem::create_directories(std::filesystem::path(*this / name).parent_path());
    std::ofstream(*this / name, std::ios::binary | std::ios::trunc) << text;
  }
  void load(const std::string &state) {  // "laptop/a"
    const std::filesystem::path from = std::filesystem::path("tests/fixtures/host") / state;
    for (const auto &entry : std::filesystem::recursive_directory_iterator(from)) {
      if (!entry.is_regular_file()) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      write(std::filesystem::relative(entry.path(), from).string(), std::string(std::istreambuf_iterator<char>(file), {}));
    }
  }
  void remove(const std::string &name) { std::filesystem::remove_all(*this / name); }
};

}  // namespace atalaya::proc::test
