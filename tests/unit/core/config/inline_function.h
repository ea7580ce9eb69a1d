// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/config/lua/lua_functions.h"
#include "tests/unit/core/config/fixture.h"

namespace config_test {

using namespace atalaya::core;

// An inline function on one sample or more.
class Inline {
 public:
  explicit Inline(const std::string &code) {
    auto state = std::make_unique<LuaState>(library());
    LuaState::Failure failure;
    REQUIRE_MESSAGE(state->load(folder_.write("test.lua", "return " + code), failure), failure.text);
    REQUIRE(state->call(0, 1));
    const int reference = luaL_ref(state->raw(), LUA_REGISTRYINDEX);
    host_ = make_function_host(std::move(state), {reference}, symbols_);
  }

  atalaya_sample &add(const std::string &process = "java") {
    atalaya_sample &sample = batch.add_sample(ATALAYA_METRICS);
    sample.time_ns = 1'795'219'532'123'456'789;
    sample.duration_ns = 5'000'000'000;
    batch.add_tag(sample, id("process"), process);
    return sample;
  }
  void field(atalaya_sample &sample, const std::string &name, double value) {
    atalaya_field field{id(name), ATALAYA_F64, {}};
    field.value.f64 = value;
    batch.add_field(sample, field);
  }
  void field(atalaya_sample &sample, const std::string &name, int64_t value) {
    atalaya_field field{id(name), ATALAYA_I64, {}};
    field.value.i64 = value;
    batch.add_field(sample, field);
  }
  FunctionHost::Result apply(bool pass_failed = false) {
    auto result = host_->apply(1, batch, pass_failed);
    // The file's folder differs from run to run.
    if (const size_t at = result.error.find("test.lua"); at != std::string::npos) result.error.erase(0, at);
    return result;
  }

  void declare(std::string_view name, uint32_t kind, std::string_view unit) {
    symbols_.declare(name, {sizeof(atalaya_metric_info), kind, 0, 0, {unit.data(), unit.size()}, {}, {}}, "a test");
  }
  uint32_t id(const std::string &name) { return symbols_.intern(name); }
  std::string tag(const atalaya_sample &sample, const std::string &name) {
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      if (sample.tags[i].key == id(name)) return std::string(view_of(sample.tags[i].value));
    return "absent";
  }
  const atalaya_field *find(const atalaya_sample &sample, const std::string &name) {
    for (uint32_t i = 0; i < sample.field_count; ++i)
      if (sample.fields[i].name == id(name)) return &sample.fields[i];
    return nullptr;
  }

  Batch batch;

 private:
  Folder folder_;
  Symbols symbols_;
  std::shared_ptr<FunctionHost> host_;
};

}  // namespace config_test
