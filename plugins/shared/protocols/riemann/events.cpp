// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/riemann/events.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>

#include "core/base/text/json_writer.h"
#include "core/base/text/safe_text.h"

namespace atalaya::protocols {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMicro = 1'000;
constexpr size_t kPlaceAttributes = 2;  // file and line

// Riemann stores attributes as members of the event: an attribute with one of these names would replace the member.
constexpr std::string_view kMembers[] = {"host", "service", "state", "time", "metric", "description", "tags", "ttl"};

std::string_view view(atalaya_str text) {
  return text.size == 0 ? std::string_view{} : std::string_view(text.data, text.size);
}

std::string_view value_of(const atalaya_sample &sample, uint32_t key) {
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (sample.tags[i].key == key) return view(sample.tags[i].value);
  return {};
}

bool is_finite(const atalaya_field &field) {
  return field.type == ATALAYA_I64 || std::isfinite(field.value.f64);
}

int64_t floor_div(int64_t value, int64_t by) {
  return value / by - (value % by < 0 ? 1 : 0);
}

// Of "java.lang.System identityHashCode (System.java:-2)", the first line of a trace.
std::pair<std::string_view, std::string_view> place_of(std::string_view trace) {
  const std::string_view line = trace.substr(0, trace.find('\n'));
  const size_t open = line.rfind(" (");
  if (open == std::string_view::npos || line.back() != ')') return {};
  const std::string_view place = line.substr(open + 2, line.size() - open - 3);
  const size_t colon = place.rfind(':');
  if (colon == std::string_view::npos) return {};
  return {place.substr(0, colon), place.substr(colon + 1)};
}

template <class T>
T *made(T *object) {
  if (object == nullptr) throw std::bad_alloc();
  return object;
}

}  // namespace

void Events::FreeMessage::operator()(riemann_message_t *message) const {
  message->n_events = 0;  // owned by the arena
  message->events = nullptr;
  riemann_message_free(message);
}
void Events::FreeBuffer::operator()(uint8_t *buffer) const {
  std::free(buffer);  // NOLINT(cppcoreguidelines-no-malloc): so says the library
}

Events::Events(EventConfig config, core::NameOf name_of, const Intern &intern)
    : config_(std::move(config)),
      name_of_(std::move(name_of)),
      host_(intern("host")),
      pid_(intern("pid")),
      function_(intern("function")),
      self_(intern("jvm.function.self")),
      rate_(intern("jvm.profile.rate")),
      blank_event_(made(riemann_event_new())),
      blank_attribute_(made(riemann_attribute_new())),
      message_(made(riemann_message_new())) {
  for (const std::string &key : config_.service_tags) service_tags_.push_back(intern(key));
}

void Events::load(std::span<const atalaya_sample> samples) {
  events_.clear();
  slice_.clear();
  not_encodable_.clear();
  arena_.reset();
  plain_tags_.clear();
  for (const std::string &tag : config_.tags) plain_tags_.push_back(copy(tag));
  profiler_tags_ = plain_tags_;
  for (const char *tag : {"jvm", "profile"}) profiler_tags_.push_back(copy(tag));
  for (size_t i = 0; i < samples.size(); ++i)
    if (const std::string_view reason = add(samples[i], i); !reason.empty()) not_encodable_.emplace_back(i, reason);
}

std::string_view Events::add(const atalaya_sample &sample, size_t index) {
  if (sample.kind == ATALAYA_STACK) return "riemann has no form for stacks";
  if (sample.kind == ATALAYA_SPAN) return "riemann has no form for spans";
  const Common common = common_of(sample);
  const size_t before = events_.size();
  for (uint32_t i = 0; i < sample.field_count; ++i) {
    const atalaya_field &field = sample.fields[i];
    const std::string_view metric = name_of_(field.name);
    if (metric.empty() || !is_finite(field)) continue;
    riemann_event_t *event = make(sample, common, field);
    name(*event, common, sample, field, metric);
    slice_.push_back(event);
    message_->n_events = 1;
    message_->events = &event;
    events_.push_back({event, index, riemann_message_get_packed_size(message_.get())});
  }
  return events_.size() > before ? std::string_view{} : "no finite value";
}

Events::Common Events::common_of(const atalaya_sample &sample) {
  Common common;
  const std::string_view host = value_of(sample, host_), pid = value_of(sample, pid_);
  if (!host.empty()) common.host = config_.pid_host && !pid.empty() ? copy(std::string(pid) + "@" + std::string(host)) : copy(host);
  if (const std::string_view text = view(sample.text); !text.empty()) common.description = copy(text);
  common.function = value_of(sample, function_);
  common.attributes = array<riemann_attribute_t *>(sample.tag_count + kPlaceAttributes);
  for (uint32_t i = 0; i < sample.tag_count; ++i) {
    const atalaya_tag &tag = sample.tags[i];
    const std::string_view key = name_of_(tag.key), value = view(tag.value);
    if (tag.key == host_ || key.empty() || value.empty()) continue;
    common.attributes[common.attribute_count++] = attribute(key, value);
  }
  return common;
}

riemann_event_t *Events::make(const atalaya_sample &sample, const Common &common, const atalaya_field &field) {
  riemann_event_t &event = *new (array<riemann_event_t>(1)) riemann_event_t(*blank_event_);
  event.has_time = event.has_time_micros = 1;
  event.time = floor_div(sample.time_ns, kSecond);
  event.time_micros = floor_div(sample.time_ns, kMicro);
  event.host = const_cast<char *>(common.host);
  event.description = const_cast<char *>(common.description);
  event.n_tags = plain_tags_.size();
  event.tags = plain_tags_.data();
  event.n_attributes = common.attribute_count;
  event.attributes = common.attributes;
  const int64_t ttl = config_.ttl_ns > 0 ? config_.ttl_ns : 2 * std::max<int64_t>(sample.duration_ns, 0);
  if (ttl > 0) {  // an instant has no lifetime
    event.has_ttl = 1;
    event.ttl = static_cast<float>(static_cast<double>(ttl) / kSecond);
  }
  if (field.type == ATALAYA_I64) {
    event.has_metric_sint64 = 1;
    event.metric_sint64 = field.value.i64;
  } else {
    event.has_metric_d = 1;
    event.metric_d = field.value.f64;
  }
  return &event;
}

void Events::name(riemann_event_t &event, const Common &common, const atalaya_sample &sample, const atalaya_field &field,
                  std::string_view metric) {
  if (field.name == self_ && !common.function.empty()) {
    as_profiler(event, "profiler fn " + std::string(common.function));
    add_place(event, common);
  } else if (field.name == rate_) {
    as_profiler(event, "profiler rate");
  } else {
    std::string service(metric);
    for (const uint32_t key : service_tags_)
      if (const std::string_view value = value_of(sample, key); !value.empty()) service.append(" ").append(value);
    event.service = copy(service);
  }
}

void Events::as_profiler(riemann_event_t &event, std::string_view service) {
  static char ok[] = "ok";
  event.service = copy(config_.prefix.empty() ? std::string(service) : config_.prefix + " " + std::string(service));
  event.state = ok;
  event.n_tags = profiler_tags_.size();
  event.tags = profiler_tags_.data();
}

// They come after the sample's attributes, beyond the count of its other events.
void Events::add_place(riemann_event_t &event, const Common &common) {
  const auto [file, line] = place_of(common.description == nullptr ? std::string_view{} : common.description);
  if (file.empty() || line.empty()) return;
  common.attributes[event.n_attributes++] = attribute("file", file);
  common.attributes[event.n_attributes++] = attribute("line", line);
}

riemann_attribute_t *Events::attribute(std::string_view key, std::string_view value) {
  riemann_attribute_t &made = *new (array<riemann_attribute_t>(1)) riemann_attribute_t(*blank_attribute_);
  const bool taken = std::find(std::begin(kMembers), std::end(kMembers), key) != std::end(kMembers);
  made.key = copy(taken ? "tag." + std::string(key) : std::string(key));
  made.value = copy(value);
  return &made;
}

// Texts of protobuf are UTF-8; those of the library end with NUL.
char *Events::copy(std::string_view text) {
  scratch_.clear();
  while (!text.empty()) {
    const core::CodePoint point = core::first_code_point(text);
    const bool good = point.size > 0 && point.value != 0;
    scratch_ += good ? text.substr(0, point.size) : core::kReplacement;
    text.remove_prefix(std::max<size_t>(point.size, 1));
  }
  char *copied = array<char>(scratch_.size() + 1);
  std::memcpy(copied, scratch_.c_str(), scratch_.size() + 1);
  return copied;
}

std::string_view Events::message(size_t first, size_t last) {
  message_->n_events = last - first;
  message_->events = slice_.data() + first;
  size_t size = 0;
  buffer_.reset(made(riemann_message_to_buffer(message_.get(), &size)));
  return {reinterpret_cast<const char *>(buffer_.get()), size};
}

std::string Events::json(size_t i) const {
  const riemann_event_t &event = this->event(i);
  core::JsonWriter json;
  json.object().key("time_micros").integer(event.time_micros);
  const auto text = [&json](const char *key, const char *value) {
    if (value != nullptr) json.key(key).text(value);
  };
  text("host", event.host);
  text("service", event.service);
  text("state", event.state);
  text("description", event.description);
  for (size_t a = 0; a < event.n_attributes; ++a) text(event.attributes[a]->key, event.attributes[a]->value);
  json.key("metric");
  if (event.has_metric_sint64 != 0)
    json.integer(event.metric_sint64);
  else
    json.number(event.metric_d);
  return json.end_object().take();
}

}  // namespace atalaya::protocols
