// SPDX-License-Identifier: Apache-2.0
// Events of MapReduce as text, for comparison, and random ones.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "plugins/shared/protocols/jhist/event.h"
#include "tests/unit/protocols/random.h"

namespace atalaya::protocols::testing {

inline std::string counters_text(const Counters &counters) {
  std::string out;
  for (const Counter &one : counters) out += " " + one.group + "/" + one.name + "=" + std::to_string(one.value);
  return out;
}

// The members that are set.
inline std::string event_text(const Event &event) {
  static constexpr std::array kTypes = {"other",      "job_submitted",   "job_ended",    "task_started",
                                        "task_ended", "attempt_started", "attempt_ended"};
  std::string out = kTypes[static_cast<size_t>(event.type)];
  for (const auto &[name, value] : {std::pair<const char *, const std::string &>{"job", event.job},
                                    {"name", event.name},
                                    {"task", event.task},
                                    {"attempt", event.attempt},
                                    {"type", event.task_type},
                                    {"host", event.host},
                                    {"places", event.places},
                                    {"locality", event.locality},
                                    {"status", event.status},
                                    {"error", event.error},
                                    {"problem", event.problem}})
    if (!value.empty()) out += std::string(" ") + name + "=" + value;
  for (const auto &[name, value] : {std::pair{"start", event.start},
                                    {"finish", event.finish},
                                    {"map", event.map_finish},
                                    {"shuffle", event.shuffle_finish},
                                    {"sort", event.sort_finish}})
    if (value != 0) out += std::string(" ") + name + ":" + std::to_string(value);
  out += " |" + counters_text(event.counters);
  if (!event.map_counters.empty()) out += " | map" + counters_text(event.map_counters);
  if (!event.reduce_counters.empty()) out += " | reduce" + counters_text(event.reduce_counters);
  return out;
}

inline std::string random_words(Random &random) {
  return random.one_of(3) ? "" : random.text("ab =.\"\\()[]{}\n", 8) + "\xc3\xa9";
}

inline Counters random_counters(Random &random) {
  Counters out;
  for (uint64_t groups = random.below(3); groups > 0; --groups) {
    const std::string group = random.text("ab .()\\", 6);
    for (uint64_t i = random.between(1, 3); i > 0; --i)
      out.push_back({group, random.text("cd[]{}\"=", 4),
                     static_cast<int64_t>(random.below(uint64_t{1} << random.between(1, 62))) * (random.one_of(3) ? -1 : 1)});
  }
  return out;
}

// An event with its ids, texts, times and counters; the reader of each form leaves some out.
inline Event random_event(Random &random) {
  Event event;
  event.type = static_cast<Event::Type>(random.between(1, 6));
  const std::string number = std::to_string(random.below(100));
  event.job = "job_1_" + number;
  event.task = "task_1_" + number + "_m_3";
  event.attempt = random.one_of(4) ? "" : "attempt_1_" + number + "_m_3_0";
  for (std::string *text : {&event.name, &event.task_type, &event.host, &event.places, &event.locality, &event.error})
    *text = random_words(random);
  event.status = random.pick(std::array<std::string, 3>{"SUCCEEDED", "FAILED", "KILLED"});
  for (int64_t *time : {&event.start, &event.finish, &event.map_finish, &event.shuffle_finish, &event.sort_finish})
    *time = random.one_of(4) ? 0 : static_cast<int64_t>(random.between(1, INT64_MAX / 1'000'000));
  event.counters = random_counters(random);
  event.map_counters = random_counters(random);
  event.reduce_counters = random_counters(random);
  return event;
}

// One to three changed or removed bytes.
inline void mutate(std::string &text, Random &random, std::string_view bytes) {
  for (uint64_t i = random.between(1, 3); i > 0 && !text.empty(); --i) {
    const uint64_t at = random.below(text.size());
    if (random.one_of(2))
      text.erase(at, random.between(1, 4));
    else
      text[at] = random.pick(bytes);
  }
}

}  // namespace atalaya::protocols::testing
