// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/otlp/otlp_profiles.h"

#include <map>
#include <protozero/pbf_writer.hpp>
#include <utility>
#include <vector>

#include "core/base/sample/span_end.h"
#include "plugins/shared/protocols/otlp/otlp_common.h"
#include "plugins/shared/protocols/otlp/otlp_dictionary.h"
#include "plugins/shared/protocols/otlp/otlp_names.h"

namespace atalaya::protocols {
namespace {

using protozero::pbf_tag_type;
using protozero::pbf_writer;

constexpr pbf_tag_type kRequestDictionary = 2;

namespace profile {
constexpr pbf_tag_type kType = 1, kSample = 2, kTime = 3, kDuration = 4, kId = 7, kAttributes = 11;
constexpr pbf_tag_type kTypeName = 1, kTypeUnit = 2;  // ValueType
constexpr pbf_tag_type kStack = 1, kValues = 4;       // Sample
}  // namespace profile

// Of the conventions: profiles of CPU time count samples, of waits time.
std::string_view type_name(std::string_view profile_name) {
  if (profile_name == "cpu") return "samples";
  return profile_name == "offcpu" ? "off_cpu" : profile_name;
}

class OtlpProfiles final : public SampleEncoder {
 public:
  explicit OtlpProfiles(const core::NameOf &name_of) : entity_(name_of) {}

  std::string_view refusal_reason(const atalaya_sample &sample) const override {
    if (sample.kind != ATALAYA_STACK) return "OTLP profiles have a form for stacks only";
    if (sample.text.size == 0) return "has no stack";
    return {};
  }

  void encode(std::span<const atalaya_sample> samples, std::string &out) override {
    std::map<std::string, std::vector<const atalaya_sample *>> profiles;
    for (const atalaya_sample &sample : samples) profiles[key_of(sample)].push_back(&sample);
    otlp::Dictionary dictionary;
    pbf_writer request(out);
    for (const auto &[key, stacks] : profiles) {
      pbf_writer resource_profiles(request, otlp::kRequestResource);
      entity_.add_resource(resource_profiles, *stacks.front());
      pbf_writer scope_profiles(resource_profiles, otlp::kScopes);
      otlp::add_scope(scope_profiles);
      add_profile(scope_profiles, key, stacks, dictionary);
    }
    dictionary.write(request, kRequestDictionary);
  }

  MessageEncoder::Rejected rejected(std::string_view answer) const override { return otlp::rejected(answer); }

 private:
  // By texts, because the numbers of names differ from run to run.
  std::string key_of(const atalaya_sample &sample) const {
    std::map<std::string_view, std::string_view> tags;
    entity_.for_each_tag(sample, [&](std::string_view key, std::string_view value) { tags.emplace(key, value); });
    std::string key = std::to_string(sample.time_ns).append(1, '\0').append(std::to_string(sample.duration_ns)).append(1, '\0');
    for (const auto &[name, value] : tags) key.append(name).append(1, '\0').append(value).append(1, '\0');
    return key;
  }

  void add_profile(pbf_writer &out, const std::string &key, const std::vector<const atalaya_sample *> &stacks,
                   otlp::Dictionary &dictionary) const {
    const atalaya_sample &first = *stacks.front();
    const std::string_view name = profile_of(first, entity_.name_of());
    pbf_writer written(out, otlp::kScopeItem);
    {
      pbf_writer type(written, profile::kType);
      type.add_int32(profile::kTypeName, dictionary.text(type_name(name)));
      type.add_int32(profile::kTypeUnit, dictionary.text(name == "cpu" ? "count" : "nanoseconds"));
    }
    for (const atalaya_sample *sample : stacks) {
      const int64_t values[] = {amount_of(*sample, value_field(name), entity_.name_of())};
      pbf_writer one(written, profile::kSample);
      one.add_int32(profile::kStack, dictionary.stack(view_of(sample->text)));
      one.add_packed_int64(profile::kValues, std::begin(values), std::end(values));
    }
    written.add_fixed64(profile::kTime, static_cast<uint64_t>(core::start_of(first.time_ns, first.duration_ns)));
    if (first.duration_ns > 0) written.add_uint64(profile::kDuration, static_cast<uint64_t>(first.duration_ns));
    written.add_bytes(profile::kId, otlp::hash_bytes(key, 1) + otlp::hash_bytes(key, 2));
    add_attributes(written, first, dictionary);
  }

  void add_attributes(pbf_writer &out, const atalaya_sample &sample, otlp::Dictionary &dictionary) const {
    std::vector<int32_t> numbers;
    entity_.for_each_tag(sample, [&](std::string_view key, std::string_view value) {
      const OtlpAttribute *known = otlp_attribute(key);
      if (key == "profile" || (known != nullptr && known->of_resource)) return;
      numbers.push_back(dictionary.attribute(known == nullptr ? key : known->key, value));
    });
    if (!numbers.empty()) out.add_packed_int32(profile::kAttributes, numbers.begin(), numbers.end());
  }

  const otlp::Entity entity_;
};

}  // namespace

std::unique_ptr<SampleEncoder> make_otlp_profiles(const core::NameOf &name_of) {
  return std::make_unique<OtlpProfiles>(name_of);
}

}  // namespace atalaya::protocols
