// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/host_functions.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "core/plugin/local_instance.h"
#include "core/plugin/strided.h"

namespace atalaya::core {
namespace {

constexpr uint64_t kMaxAllocation = uint64_t{1} << 32;  // larger sizes are mistakes; the limit also prevents overflows of sums
constexpr uint64_t kMaxSamples = uint64_t{1} << 26;
constexpr size_t kMaxLent = 64;  // limits the memory of a source that never emits its batches
constexpr size_t kMaxLogText = 4096;

// Runs the body; no exception passes into C.
template <class T, class Body>
T guarded(T out_of_memory, T failed, Body &&body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc &) {
    return out_of_memory;
  } catch (...) {
    return failed;
  }
}
template <class Body>
int32_t answer(Body &&body) noexcept {
  return guarded<int32_t>(ATALAYA_RETRY, ATALAYA_PERMANENT, body);
}

LogLevel log_level(int32_t level) {
  return static_cast<LogLevel>(std::clamp(level, ATALAYA_LOG_ERROR, ATALAYA_LOG_DEBUG));
}

atalaya_str str_of(std::string_view text) {
  return {text.data(), text.size()};
}

// Writes the members that the caller's struct has.
void give(const Parameter &parameter, atalaya_value &out) {
  atalaya_value value{};
  value.struct_size = out.struct_size;
  value.type = parameter.type;
  if (parameter.type == ATALAYA_NUMBER)
    value.value.f64 = parameter.f64;
  else
    value.value.i64 = parameter.i64;
  value.text = str_of(parameter.text);
  value.count = parameter.children.size();
  value.key = str_of(parameter.key);
  std::memcpy(&out, &value, std::min<size_t>(out.struct_size, sizeof(value)));
}

}  // namespace

struct HostFunctions {
  static LocalInstance &of(void *self) { return *static_cast<LocalInstance *>(self); }

  // The batch that the instance may write to now. Null for other pointers of the plugin, which are untrusted input.
  static Batch *owned(void *self, const atalaya_batch *batch) {
    const LocalInstance &instance = of(self);
    if (instance.current_ != nullptr && batch == &instance.current_->raw()) return instance.current_;
    for (const BatchOwner &lent : instance.new_batches_)
      if (batch == &lent->raw()) return lent.get();
    return nullptr;
  }
  // Calls the body with that batch.
  template <class Body>
  static int32_t on_batch(void *self, const atalaya_batch *batch, Body &&body) noexcept {
    return answer([&]() -> int32_t {
      Batch *owner = owned(self, batch);
      if (owner == nullptr) return ATALAYA_PERMANENT;
      body(*owner);
      return ATALAYA_OK;
    });
  }

  static void log(void *self, int32_t level, atalaya_str text) noexcept {
    answer([&]() -> int32_t {
      const LocalInstance &instance = of(self);
      const std::string line = instance.label_ + ": " + std::string(view_of(text).substr(0, kMaxLogText));
      instance.surroundings_.log(log_level(level), line);
      return ATALAYA_OK;
    });
  }
  static uint32_t intern(void *self, atalaya_str name) noexcept {
    return guarded<uint32_t>(0, 0, [&] { return of(self).names_.intern(view_of(name)); });
  }
  static int32_t name_of(void *self, uint32_t id, atalaya_str *name) noexcept {
    const std::string_view found = of(self).names_.name(id);
    if (found.empty()) return ATALAYA_NOTHING;
    *name = str_of(found);
    return ATALAYA_OK;
  }
  static int32_t metric_of(void *self, uint32_t id, atalaya_metric_info *info) noexcept {
    return answer([&]() -> int32_t {
      const atalaya_metric_info *found = of(self).names_.metric(id);
      if (found == nullptr) return ATALAYA_NOTHING;
      const uint32_t size = info->struct_size;
      std::memcpy(info, found, std::min<size_t>(size, sizeof(*found)));
      info->struct_size = size;
      return ATALAYA_OK;
    });
  }
  static int32_t declare_metric(void *self, const atalaya_metric *metric, uint32_t metric_size) noexcept {
    return answer([&]() -> int32_t {
      LocalInstance &instance = of(self);
      const atalaya_metric whole = Strided<atalaya_metric>(metric, 1, metric_size).at(0);
      switch (instance.names_.declare(view_of(whole.name), metric_info_of(whole), instance.label_)) {
        case Catalogue::Outcome::added:
        case Catalogue::Outcome::same:
          return ATALAYA_OK;
        case Catalogue::Outcome::conflict:
          return ATALAYA_PERMANENT;
        case Catalogue::Outcome::invalid:
          return ATALAYA_BAD_CONFIG;
        case Catalogue::Outcome::full:
          break;
      }
      return ATALAYA_RETRY;
    });
  }
  static int64_t now(void *self, int32_t clock) noexcept {
    return guarded<int64_t>(0, 0, [&] { return of(self).surroundings_.now(clock); });
  }
  static void count(void *self, int32_t what, atalaya_str reason, uint64_t samples) noexcept {
    answer([&]() -> int32_t {
      of(self).surroundings_.count(what, view_of(reason), samples);
      return ATALAYA_OK;
    });
  }

  static void *allocate(void *self, atalaya_batch *batch, uint64_t size, uint64_t alignment) noexcept {
    void *memory = nullptr;
    const bool sound = size <= kMaxAllocation && alignment > 0 && alignment <= 64 && (alignment & (alignment - 1)) == 0;
    if (sound) on_batch(self, batch, [&](Batch &owner) { memory = owner.arena().allocate(size, alignment); });
    return memory;
  }
  static int32_t reserve_samples(void *self, atalaya_batch *batch, uint64_t more) noexcept {
    if (more > kMaxSamples) return ATALAYA_RETRY;
    return on_batch(self, batch, [more](Batch &owner) { owner.reserve_samples(more); });
  }
  static int32_t add_sample(void *self, atalaya_batch *batch, uint32_t kind, atalaya_sample **sample) noexcept {
    return on_batch(self, batch, [&](Batch &owner) { *sample = &owner.add_sample(kind); });
  }
  static int32_t reserve(void *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t tags, uint32_t fields) noexcept {
    return on_batch(self, batch, [&](Batch &owner) { owner.reserve(*sample, tags, fields); });
  }
  static int32_t add_tag(void *self, atalaya_batch *batch, atalaya_sample *sample, uint32_t key, atalaya_str value) noexcept {
    return on_batch(self, batch, [&](Batch &owner) { owner.add_tag(*sample, key, view_of(value)); });
  }
  static int32_t add_field(void *self, atalaya_batch *batch, atalaya_sample *sample, const atalaya_field *field) noexcept {
    return on_batch(self, batch, [&](Batch &owner) { owner.add_field(*sample, *field); });
  }

  static int32_t param(void *self, atalaya_str path, atalaya_value *value) noexcept {
    return answer([&]() -> int32_t {
      const Parameter *found = of(self).parameters_.find(view_of(path));
      if (found == nullptr) return ATALAYA_NOTHING;
      give(*found, *value);
      return ATALAYA_OK;
    });
  }
  static int32_t param_child(void *self, atalaya_str path, uint64_t index, atalaya_value *value) noexcept {
    return answer([&]() -> int32_t {
      const Parameter *parent = of(self).parameters_.find(view_of(path));
      if (parent == nullptr || index >= parent->children.size()) return ATALAYA_NOTHING;
      give(parent->children[index], *value);
      return ATALAYA_OK;
    });
  }

  static int32_t new_batch(void *self, atalaya_batch **batch) noexcept {
    return answer([&]() -> int32_t {
      LocalInstance &instance = of(self);
      if (instance.new_batches_.size() >= kMaxLent) return ATALAYA_RETRY;
      BatchOwner owner = instance.surroundings_.new_batch();
      if (owner == nullptr) return ATALAYA_RETRY;
      instance.new_batches_.push_back(std::move(owner));
      *batch = &instance.new_batches_.back()->raw();
      return ATALAYA_OK;
    });
  }
  static int32_t emit(void *self, atalaya_batch *batch, uint64_t *id) noexcept {
    return answer([&]() -> int32_t {
      LocalInstance &instance = of(self);
      const auto found = std::find_if(instance.new_batches_.begin(), instance.new_batches_.end(),
                                      [batch](const BatchOwner &lent) { return &lent->raw() == batch; });
      if (found == instance.new_batches_.end()) return ATALAYA_PERMANENT;
      BatchOwner owner = std::move(*found);
      instance.new_batches_.erase(found);
      uint64_t given = 0;
      const int32_t code = instance.surroundings_.emit(std::move(owner), given);
      if (id != nullptr) *id = given;
      return code;
    });
  }

  static int32_t state_dir(void *self, atalaya_str *path) noexcept {
    return answer([&]() -> int32_t {
      LocalInstance &instance = of(self);
      const std::lock_guard lock(instance.state_dir_mutex_);
      if (instance.state_dir_.empty()) instance.state_dir_ = instance.surroundings_.state_dir().value_or("");
      if (instance.state_dir_.empty()) return ATALAYA_NOTHING;
      *path = str_of(instance.state_dir_);
      return ATALAYA_OK;
    });
  }
  static int32_t ledger(void *self, uint64_t row, atalaya_ledger_row *out) noexcept {
    return answer([&]() -> int32_t {
      atalaya_ledger_row found{};
      if (!of(self).surroundings_.ledger(row, found)) return ATALAYA_NOTHING;
      found.struct_size = out->struct_size;
      std::memcpy(out, &found, std::min<size_t>(out->struct_size, sizeof(found)));
      return ATALAYA_OK;
    });
  }
};

atalaya_host host_functions(LocalInstance *instance) {
  atalaya_host host{};
  host.struct_size = sizeof(host);
  host.self = instance;
  host.log = HostFunctions::log;
  host.intern = HostFunctions::intern;
  host.name_of = HostFunctions::name_of;
  host.now = HostFunctions::now;
  host.count = HostFunctions::count;
  host.allocate = HostFunctions::allocate;
  host.reserve_samples = HostFunctions::reserve_samples;
  host.add_sample = HostFunctions::add_sample;
  host.reserve = HostFunctions::reserve;
  host.add_tag = HostFunctions::add_tag;
  host.add_field = HostFunctions::add_field;
  host.param = HostFunctions::param;
  host.param_child = HostFunctions::param_child;
  host.new_batch = HostFunctions::new_batch;
  host.emit = HostFunctions::emit;
  host.state_dir = HostFunctions::state_dir;
  host.ledger = HostFunctions::ledger;
  host.metric_of = HostFunctions::metric_of;
  host.declare_metric = HostFunctions::declare_metric;
  return host;
}

}  // namespace atalaya::core
