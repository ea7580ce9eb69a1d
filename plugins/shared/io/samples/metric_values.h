// SPDX-License-Identifier: Apache-2.0
// The values of one entity by declared metric. Models fill it, independent of the ABI's batch; MetricEmitter copies it to a
// batch.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

namespace atalaya::io {

template <const auto &kMetrics>
class MetricValues {
 public:
  static constexpr size_t kCount = kMetrics.size();

  // A metric of the table, by name. An unknown name does not compile.
  class Name {
   public:
    consteval Name(const char *name) : index_(find(name)) {}
    constexpr size_t index() const { return index_; }

   private:
    static consteval size_t find(std::string_view name) {
      for (size_t i = 0; i < kCount; ++i)
        if (view(kMetrics[i].name) == name) return i;
      throw "no such metric";
    }
    size_t index_;
  };

  void clear() { size_ = 0; }

  // Sets a metric; without a value, the metric is absent.
  void set(Name name, std::optional<double> value) {
    if (!value) return;
    atalaya_field &field = next(name, ATALAYA_F64);
    field.value.f64 = round_to(*value, kMetrics[name.index()].decimals);
  }
  void set_count(Name name, std::optional<uint64_t> value) {
    if (!value || *value > INT64_MAX) return;
    next(name, ATALAYA_I64).value.i64 = static_cast<int64_t>(*value);
  }

  std::optional<double> get(Name name) const {
    for (const atalaya_field &field : fields())
      if (field.name == name.index()) return as_double(field);
    return std::nullopt;
  }

  // The set values. `name` of each field is its index in the table of metrics.
  std::span<const atalaya_field> fields() const { return {fields_.data(), size_}; }

 private:
  atalaya_field &next(Name name, uint32_t type) {
    atalaya_field &field = fields_[size_++];
    field.name = static_cast<uint32_t>(name.index());
    field.type = type;
    return field;
  }

  std::array<atalaya_field, kCount> fields_{};
  size_t size_ = 0;
};

// Writes the values of entities into a batch. Interns the names of metrics once.
template <const auto &kMetrics>
class MetricEmitter {
 public:
  using Tag = std::pair<uint32_t, std::string_view>;  // interned key, value

  explicit MetricEmitter(Host host) {
    for (size_t i = 0; i < ids_.size(); ++i) ids_[i] = host.intern(view(kMetrics[i].name));
  }

  // Adds one sample with the values; no sample if there are none.
  void emit(Batch &batch, const MetricValues<kMetrics> &values, std::initializer_list<Tag> tags) const {
    emit(batch, values, std::span<const Tag>(tags.begin(), tags.size()));
  }
  void emit(Batch &batch, const MetricValues<kMetrics> &values, std::span<const Tag> tags) const {
    if (values.fields().empty()) return;
    Sample &sample = batch.add(ATALAYA_METRICS, static_cast<uint32_t>(tags.size()), static_cast<uint32_t>(values.fields().size()));
    for (const auto &[key, value] : tags) batch.tag(sample, key, value);
    for (atalaya_field field : values.fields()) {
      field.name = ids_[field.name];
      batch.put(sample, field);
    }
  }

 private:
  std::array<uint32_t, kMetrics.size()> ids_{};
};

}  // namespace atalaya::io
