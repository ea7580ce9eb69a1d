// SPDX-License-Identifier: Apache-2.0
// Events of Riemann. Source: proto.proto of riemann-java-client 0.5, and riemann.io/concepts.html.
//   LENGTH (32 bits, big-endian)  Msg
//   Msg        2 ok, 3 error (answers, answer.h)   6 Event...
//   Event      1 time (s), 2 state, 3 service, 4 host, 5 description, 7 tag..., 8 ttl (float, s), 9 Attribute...,
//              10 time_micros, 13 metric_sint64, 14 metric_d, 15 metric_f
//   Attribute  1 key, 2 value
// One of 13 and 14 is written, 15 never: a float is inexact. Texts are UTF-8 without NUL; other bytes become U+FFFD.
#pragma once

#include <atalaya/plugin.h>
#include <riemann/riemann-client.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/sample/arena.h"
#include "core/base/sample/name_cache.h"

namespace atalaya::protocols {

struct EventConfig {
  std::string prefix;                     // prefix of the services of profiler events; empty: none
  bool pid_host = false;                  // the host of an event is pid@host
  std::vector<std::string> service_tags;  // tags whose values are appended to the service
  std::vector<std::string> tags;          // tags of every event
  int64_t ttl_ns = 0;                     // 0: twice the sample's window
};

// Converts a batch to events, one per field. riemann-c-client would allocate each event and each of its texts, so this class fills
// the library's structures in one reused arena; the library encodes them.
class Events {
 public:
  using Intern = std::function<uint32_t(std::string_view name)>;
  Events(EventConfig config, core::NameOf name_of, const Intern &intern);

  // Converts the samples, which are not used after the return.
  void load(std::span<const atalaya_sample> samples);

  size_t size() const { return events_.size(); }
  const riemann_event_t &event(size_t i) const { return *events_[i].event; }
  size_t sample(size_t i) const { return events_[i].sample; }
  size_t bytes(size_t i) const { return events_[i].bytes; }  // size of an event in a message
  // The samples that cannot be converted to events, and the reasons.
  const std::vector<std::pair<size_t, std::string_view>> &not_encodable() const { return not_encodable_; }

  // The encoded message of these events, with its length. Valid until the next call.
  std::string_view message(size_t first, size_t last);
  // The event as one JSON object, for dead letters.
  std::string json(size_t i) const;

 private:
  struct FreeEvent {
    void operator()(riemann_event_t *event) const { riemann_event_free(event); }
  };
  struct FreeAttribute {
    void operator()(riemann_attribute_t *attribute) const { riemann_attribute_free(attribute); }
  };
  struct FreeMessage {
    void operator()(riemann_message_t *message) const;
  };
  struct FreeBuffer {
    void operator()(uint8_t *buffer) const;
  };
  struct Entry {
    riemann_event_t *event;
    size_t sample, bytes;
  };
  // The members that all events of a sample share.
  struct Common {
    const char *host = nullptr, *description = nullptr;
    std::string_view function;
    riemann_attribute_t **attributes = nullptr;
    size_t attribute_count = 0;
  };

  std::string_view add(const atalaya_sample &sample, size_t index);
  Common common_of(const atalaya_sample &sample);
  riemann_event_t *make(const atalaya_sample &sample, const Common &common, const atalaya_field &field);
  void name(riemann_event_t &event, const Common &common, const atalaya_sample &sample, const atalaya_field &field,
            std::string_view metric);
  void as_profiler(riemann_event_t &event, std::string_view service);
  void add_place(riemann_event_t &event, const Common &common);
  riemann_attribute_t *attribute(std::string_view key, std::string_view value);
  char *copy(std::string_view text);
  template <class T>
  T *array(size_t count) {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer
    return static_cast<T *>(arena_.allocate(count * sizeof(T), alignof(T)));
  }

  const EventConfig config_;
  const core::NameOf name_of_;
  const uint32_t host_, pid_, function_, self_, rate_;
  std::vector<uint32_t> service_tags_;
  // As the library initializes them; others are copies of these.
  const std::unique_ptr<riemann_event_t, FreeEvent> blank_event_;
  const std::unique_ptr<riemann_attribute_t, FreeAttribute> blank_attribute_;
  const std::unique_ptr<riemann_message_t, FreeMessage> message_;
  std::vector<char *> plain_tags_, profiler_tags_;  // pointers into arena_
  std::unique_ptr<uint8_t, FreeBuffer> buffer_;

  // The current batch.
  core::Arena arena_;
  std::string scratch_;
  std::vector<Entry> events_;
  std::vector<riemann_event_t *> slice_;
  std::vector<std::pair<size_t, std::string_view>> not_encodable_;
};

}  // namespace atalaya::protocols
