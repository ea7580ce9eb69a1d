// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/opentsdb/opentsdb_encoder.h"

#include <algorithm>
#include <string>

#include "core/base/text/json.h"
#include "plugins/shared/protocols/opentsdb/opentsdb_name.h"

namespace atalaya::protocols {
namespace {

class OpenTsdbEncoder final : public core::Encoder {
 public:
  OpenTsdbEncoder(const core::NameOf &name_of, const TagLimit &limit)
      : limit_(limit),
        metrics_(name_of,
                 [](std::string_view name, std::string &out) {
                   out = R"({"metric":")";
                   append_opentsdb_name(out, name);
                   out += R"(","timestamp":)";
                 }),
        keys_(name_of, [](std::string_view name, std::string &out) {
          out = '"';
          append_opentsdb_name(out, name);
          out += R"(":")";
        }) {}

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (sample.kind == ATALAYA_STACK) return "opentsdb has no form for stacks";
    if (sample.kind == ATALAYA_SPAN) return "opentsdb has no form for spans";
    if (const std::string_view reason = render_tags(sample); !reason.empty()) return reason;
    time_.clear();
    core::append_integer(time_, sample.time_ns / core::encoders::kNanosPerMilli);
    time_ += R"(,"value":)";
    bool any = false;
    for (uint32_t i = 0; i < sample.field_count; ++i) {
      const atalaya_field &field = sample.fields[i];
      const core::NameCache::Name *name = core::encoders::finite(field) ? metrics_.find(field.name) : nullptr;
      if (name == nullptr) continue;
      out += name->text;
      out += time_;
      core::encoders::append_value(field, out);
      out += tail_;
      any = true;
    }
    return any ? std::string_view{} : core::encoders::kNoValue;
  }

 private:
  // Sets tail_ to the text after the value. Tags without a value cannot be written; leaving them out has the same meaning.
  std::string_view render_tags(const atalaya_sample &sample) {
    kept_.clear();
    for (uint32_t i = 0; i < sample.tag_count; ++i)
      if (sample.tags[i].value.size > 0 && keys_.find(sample.tags[i].key) != nullptr) kept_.push_back(sample.tags[i]);
    if (kept_.empty()) return "opentsdb wants a tag";
    for (size_t i = 0; kept_.size() > limit_.max_tags && i < limit_.droppable.size(); ++i)
      std::erase_if(kept_, [&](const atalaya_tag &tag) { return keys_.find(tag.key)->raw == limit_.droppable[i]; });
    if (kept_.size() > limit_.max_tags) return "more tags than opentsdb takes";
    tail_ = R"(,"tags":{)";
    for (const atalaya_tag &tag : kept_) {
      tail_ += keys_.find(tag.key)->text;
      append_opentsdb_name(tail_, core::encoders::view(tag.value));
      tail_ += R"(",)";
    }
    tail_.back() = '}';
    tail_ += "}\n";
    return {};
  }

  TagLimit limit_;
  core::NameCache metrics_, keys_;
  std::vector<atalaya_tag> kept_;  // of the current sample, as are the texts
  std::string time_, tail_;
};

}  // namespace

std::unique_ptr<core::Encoder> make_opentsdb(const core::NameOf &name_of, const TagLimit &limit) {
  return std::make_unique<OpenTsdbEncoder>(name_of, limit);
}

}  // namespace atalaya::protocols
