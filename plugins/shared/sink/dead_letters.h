// SPDX-License-Identifier: Apache-2.0
// What a server will never take: dead-letters.jsonl in the sink's state folder, and the ledger.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/sink/line_file.h"

namespace atalaya::sinks {

// A record that was refused, and the server's words.
struct DeadLetter {
  size_t sample;  // index in the batch
  std::string_view url;
  int status;  // 0: the server has words only
  std::string_view words, record;
};

class DeadLetters {
 public:
  // Room in bytes for all that is kept, the oldest half goes first; 0 keeps none.
  DeadLetters(Host host, int64_t room) : host_(host), room_(room) {}

  void open();  // throws Failure
  void close() { file_.reset(); }

  // Of the batch at hand, which settle() ends: a sample counts once, however many of its records are dead.
  void add(const DeadLetter &letter);
  // Keeps them, counts their samples and says so. `noun`: what the records are called.
  void settle(std::string_view noun);

 private:
  void append(const DeadLetter &letter);
  bool keep();

  Host host_;
  int64_t room_;
  std::unique_ptr<file_sink::LineFile> file_;
  std::string lines_;
  std::string url_, answer_;  // of the last one
  std::vector<size_t> samples_;
  size_t records_ = 0;
};

}  // namespace atalaya::sinks
