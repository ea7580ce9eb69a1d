// SPDX-License-Identifier: Apache-2.0
// A built sink and the least host that it needs, to test the glue.
#pragma once

#include <atalaya/plugin.h>
#include <dlfcn.h>

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/base/sample/symbols.h"
#include "tests/unit/declarations.h"

namespace atalaya::testing {

class LoadedSink {
 public:
  using Texts = std::map<std::string, std::string>;  // parameters that are texts
  using Numbers = std::map<std::string, int64_t>;    // all others

  LoadedSink(const char *file, core::Symbols &symbols, Texts texts, Numbers numbers, Declarations declared = {})
      : symbols_(symbols), texts_(std::move(texts)), numbers_(std::move(numbers)), declared_(std::move(declared)) {
    void *library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(::dlerror());
    auto entry = reinterpret_cast<const atalaya_plugin *(*)()>(::dlsym(library, "atalaya_plugin_v1"));
    component_ = entry()->components[0];
    host_.struct_size = sizeof(host_);
    host_.self = this;
    host_.log = [](void *, int32_t, atalaya_str) {};
    host_.name_of = name_of;
    host_.now = [](void *, int32_t) { return int64_t{1'795'219'532'000'000'000}; };
    host_.count = count;
    host_.param = param;
    host_.param_child = [](void *, atalaya_str, uint64_t, atalaya_value *) -> int32_t { return ATALAYA_NOTHING; };
    host_.metric_of = metric_of;
    host_.declare_metric = [](void *, const atalaya_metric *, uint32_t) -> int32_t { return ATALAYA_OK; };
    created_ = component_->ops->create(&host_, component_, &instance_, &error_);
  }
  LoadedSink(const LoadedSink &) = delete;
  LoadedSink &operator=(const LoadedSink &) = delete;
  ~LoadedSink() {
    if (created_ != ATALAYA_OK) return;
    component_->ops->stop(instance_, &error_);
    component_->ops->destroy(instance_);
  }

  int32_t created() const { return created_; }
  int32_t start() { return component_->ops->start(instance_, &error_); }
  int32_t write(const atalaya_batch &batch) {
    int64_t retry_after_ns = 0;
    return component_->ops->write(instance_, &batch, &retry_after_ns, &error_);
  }
  std::string error() const { return error_.text; }
  const std::map<std::string, uint64_t> &dropped() const { return dropped_; }

 private:
  static LoadedSink &of(void *self) { return *static_cast<LoadedSink *>(self); }
  static int32_t name_of(void *self, uint32_t id, atalaya_str *name) {
    const std::string_view found = of(self).symbols_.name(id);
    *name = {found.data(), found.size()};
    return found.empty() ? ATALAYA_NOTHING : ATALAYA_OK;
  }
  static int32_t metric_of(void *self, uint32_t id, atalaya_metric_info *info) {
    const auto found = of(self).declared_.find(of(self).symbols_.name(id));
    if (!found) return ATALAYA_NOTHING;
    info->kind = found->kind;
    info->decimals = found->decimals;
    info->unit = {found->unit.data(), found->unit.size()};
    info->summary = {found->summary.data(), found->summary.size()};
    return ATALAYA_OK;
  }
  static void count(void *self, int32_t what, atalaya_str reason, uint64_t samples) {
    if (what == ATALAYA_COUNT_DROPPED) of(self).dropped_[std::string(reason.data, reason.size)] += samples;
  }
  static int32_t param(void *self, atalaya_str path, atalaya_value *value) {
    const std::string name(path.data, path.size);
    if (const auto text = of(self).texts_.find(name); text != of(self).texts_.end()) {
      value->text = {text->second.data(), text->second.size()};
      return ATALAYA_OK;
    }
    const auto number = of(self).numbers_.find(name);
    if (number == of(self).numbers_.end()) return ATALAYA_NOTHING;
    value->value.i64 = number->second;
    return ATALAYA_OK;
  }

  core::Symbols &symbols_;
  Texts texts_;
  Numbers numbers_;
  Declarations declared_;
  std::map<std::string, uint64_t> dropped_;
  const atalaya_component *component_ = nullptr;
  atalaya_host host_{};
  atalaya_error error_{sizeof(atalaya_error), 0, {}};
  void *instance_ = nullptr;
  int32_t created_ = ATALAYA_PERMANENT;
};

}  // namespace atalaya::testing
