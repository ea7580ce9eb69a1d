// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/alertmanager/alert_encoder.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <set>
#include <string>

#include "core/base/sample/span_end.h"
#include "core/base/text/json_writer.h"
#include "plugins/shared/protocols/prometheus/legal_text.h"

namespace atalaya::protocols {
namespace {

using core::encoders::view;

constexpr std::string_view kNoAlert = "is not an alert: only spans \"alert\" have this form";

// Tags of the span that are not labels of its series.
struct Parts {
  std::string_view alert, severity, summary, advice;
};

class AlertEncoder : public core::Encoder {
 public:
  explicit AlertEncoder(core::NameOf name_of) : name_of_(std::move(name_of)) {}

 protected:
  static bool is_alert(const atalaya_sample &sample) { return sample.kind == ATALAYA_SPAN && view(sample.text) == "alert"; }

  // Calls other(key, value) for the tags of the series.
  template <class Other>
  Parts parts_of(const atalaya_sample &sample, Other &&other) const {
    Parts parts;
    for (uint32_t i = 0; i < sample.tag_count; ++i) {
      const std::string_view key = name_of_(sample.tags[i].key), value = view(sample.tags[i].value);
      if (key == "alert")
        parts.alert = value;
      else if (key == "severity")
        parts.severity = value;
      else if (key == "summary")
        parts.summary = value;
      else if (key == "advice")
        parts.advice = value;
      else if (!key.empty())
        other(key, value);
    }
    return parts;
  }

  const atalaya_field *field(const atalaya_sample &sample, std::string_view name) const {
    for (uint32_t i = 0; i < sample.field_count; ++i)
      if (name_of_(sample.fields[i].name) == name && core::encoders::finite(sample.fields[i])) return &sample.fields[i];
    return nullptr;
  }

  const core::NameOf name_of_;
};

// RFC 3339 with milliseconds.
std::string time_text(int64_t time_ns) {
  const std::time_t seconds = time_ns / core::encoders::kNanosPerSecond;
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 64> text{};
  const size_t size = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%S", &parts);
  std::snprintf(text.data() + size, text.size() - size, ".%03dZ",
                static_cast<int>(time_ns / core::encoders::kNanosPerMilli % 1000));
  return text.data();
}

class Alertmanager final : public AlertEncoder {
 public:
  using AlertEncoder::AlertEncoder;

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (!is_alert(sample)) return kNoAlert;
    core::JsonWriter json(out);
    json.object().key("labels").object();
    std::set<std::string> labels = {"alertname", "severity"};
    const Parts parts = parts_of(sample, [&](std::string_view key, std::string_view value) {
      const std::string label = prometheus::legal_label(key);
      if (!value.empty() && labels.insert(label).second) json.key(label).text(value);
    });
    json.key("alertname").text(parts.alert).key("severity").text(parts.severity).end_object();
    {
      core::JsonObject annotations(json.key("annotations"));
      annotations.text("summary", parts.summary);
      annotations.text("description", parts.advice);
      std::string text;
      if (const atalaya_field *value = field(sample, "alert.value")) core::encoders::append_value(*value, text);
      annotations.text("value", text);
    }
    json.key("startsAt").text(time_text(sample.time_ns));
    if (sample.duration_ns >= 0) json.key("endsAt").text(time_text(core::end_of(sample)));
    json.end_object();
    out += '\n';
    return {};
  }
};

class Webhook final : public AlertEncoder {
 public:
  using AlertEncoder::AlertEncoder;

  std::string_view append(const atalaya_sample &sample, std::string &out) override {
    if (!is_alert(sample)) return kNoAlert;
    core::JsonWriter tags;
    tags.object();
    const Parts parts = parts_of(sample, [&](std::string_view key, std::string_view value) { tags.key(key).text(value); });
    core::JsonWriter json(out);
    {
      core::JsonObject alert(json);
      json.key("alert").text(parts.alert).key("state").text(sample.duration_ns < 0 ? "firing" : "resolved");
      json.key("severity").text(parts.severity).key("start").milliseconds(sample.time_ns);
      if (sample.duration_ns >= 0) json.key("end").milliseconds(core::end_of(sample));
      for (const std::string_view member : {"value", "limit"})
        if (const atalaya_field *number = field(sample, "alert." + std::string(member))) {
          json.key(member);
          core::encoders::append_value(*number, out);
        }
      json.key("tags").raw(tags.end_object().take());
      alert.text("summary", parts.summary);
      alert.text("advice", parts.advice);
    }
    out += '\n';
    return {};
  }
};

}  // namespace

std::unique_ptr<core::Encoder> make_alertmanager(const core::NameOf &name_of) {
  return std::make_unique<Alertmanager>(name_of);
}

std::unique_ptr<core::Encoder> make_webhook(const core::NameOf &name_of) {
  return std::make_unique<Webhook>(name_of);
}

}  // namespace atalaya::protocols
