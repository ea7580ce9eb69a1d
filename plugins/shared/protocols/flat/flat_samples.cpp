// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "core/base/encode/flat.h"
#include "plugins/shared/protocols/base/sample_encoder.h"

namespace atalaya::protocols {
namespace {

// The names and metrics of the host.
class Names final : public core::NameTable {
 public:
  Names(core::NameOf name_of, MetricOf metric_of) : name_of_(std::move(name_of)), metric_of_(std::move(metric_of)) {}
  uint32_t intern(std::string_view) override { return 0; }
  std::string_view name(uint32_t id) const override { return name_of_(id); }
  // Called for a name that was not declared to the server: rarely.
  const atalaya_metric_info *metric(uint32_t id) const override {
    if (const auto known = metrics_.find(id); known != metrics_.end()) return &known->second;
    const auto found = metric_of_(id);
    if (!found) return nullptr;
    const atalaya_metric_info info{sizeof(info),     found->kind,         found->decimals,   0,
                                   str(found->unit), str(found->summary), str(found->source)};
    return &metrics_.emplace(id, info).first->second;
  }
  core::Catalogue::Outcome declare(std::string_view, const atalaya_metric_info &, std::string_view) override {
    return core::Catalogue::Outcome::invalid;
  }

 private:
  core::NameOf name_of_;
  MetricOf metric_of_;
  mutable std::unordered_map<uint32_t, atalaya_metric_info> metrics_;
};

class FlatSamples final : public SampleEncoder {
 public:
  FlatSamples(const core::NameOf &name_of, const MetricOf &metric_of) : names_(name_of, metric_of) {}

  std::string_view refusal_reason(const atalaya_sample &sample) const override {
    return core::is_encodable(sample) ? "" : "is not a valid sample";
  }
  void forget() override { encoder_.start_stream(); }
  void encode(std::span<const atalaya_sample> samples, std::string &out) override {
    const atalaya_batch batch{sizeof(atalaya_batch), sizeof(atalaya_sample), samples.size(),
                              const_cast<atalaya_sample *>(samples.data()), nullptr};
    if (const core::Status encoded = encoder_.append(batch, names_, out); !encoded) throw std::runtime_error(encoded.error());
  }

 private:
  Names names_;
  core::FlatEncoder encoder_;
};

}  // namespace

std::unique_ptr<SampleEncoder> make_flat(const core::NameOf &name_of, const MetricOf &metric_of) {
  return std::make_unique<FlatSamples>(name_of, metric_of);
}

}  // namespace atalaya::protocols
