// SPDX-License-Identifier: Apache-2.0
// A host for one collector: real batches and names, a clock and parameters that the test sets, and the log.
#pragma once

#include <atalaya/plugin.hpp>

#include <ctime>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/sample/batch.h"
#include "core/base/sample/symbols.h"

namespace atalaya::proc {

class TestHost {
 public:
  TestHost() {
    raw_.struct_size = sizeof(raw_);
    raw_.self = this;
    raw_.log = [](void *self, int32_t, atalaya_str text) { of(self).logged.emplace_back(view(text)); };
    raw_.intern = [](void *self, atalaya_str name) { return of(self).symbols_.intern(view(name)); };
    raw_.metric_of = [](void *, uint32_t, atalaya_metric_info *) -> int32_t { return ATALAYA_NOTHING; };
    raw_.declare_metric = [](void *, const atalaya_metric *, uint32_t) -> int32_t { return ATALAYA_OK; };
    raw_.now = [](void *self, int32_t) { return of(self).now(); };
    raw_.allocate = [](void *, atalaya_batch *batch, uint64_t size, uint64_t alignment) {
      return static_cast<core::Batch *>(batch->arena)->arena().allocate(size, alignment);
    };
    raw_.reserve_samples = [](void *, atalaya_batch *batch, uint64_t more) -> int32_t {
      static_cast<core::Batch *>(batch->arena)->reserve_samples(more);
      return ATALAYA_OK;
    };
  }
  TestHost(const TestHost &) = delete;
  TestHost &operator=(const TestHost &) = delete;

  Host host() const { return Host(&raw_); }
  std::string_view name(uint32_t id) const { return symbols_.name(id); }

  std::vector<std::string> logged;
  // The window that ends now.
  Window next_window(uint32_t flags = 0) {
    Window window{};
    window.struct_size = sizeof(window);
    window.flags = flags;
    window.time_ns = window.monotonic_ns = now();
    window.duration_ns = last_window_ns_ == 0 || flags != 0 ? 0 : window.monotonic_ns - last_window_ns_;
    last_window_ns_ = window.monotonic_ns;
    return window;
  }

  int64_t fixed_now = 0;  // 0: the real clock

 private:
  static TestHost &of(void *self) { return *static_cast<TestHost *>(self); }
  int64_t now() const {
    if (fixed_now != 0) return fixed_now;
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
  }

  atalaya_host raw_{};
  core::Symbols symbols_;
  int64_t last_window_ns_ = 0;
};

}  // namespace atalaya::proc
