// SPDX-License-Identifier: Apache-2.0
// Records that a server refuses for good: dead-letters.jsonl in the sink's state folder, and the ledger.
#pragma once

#include <atalaya/plugin.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/shared/io/sink/line_file.h"

namespace atalaya::io {

// A refused record, and the server's message.
struct DeadLetter {
  size_t sample;  // index in the batch
  std::string_view url;
  int status;  // 0: only a message
  std::string_view words, record;
};

class DeadLetters {
 public:
  // Maximum bytes of all kept records; the oldest half is deleted first. 0 keeps none.
  DeadLetters(Host host, int64_t room) : host_(host), room_(room) {}

  void open();  // throws Failure
  void close() { file_.reset(); }

  // Of the current batch, which settle() ends: a sample counts once, even with several dead records.
  void add(const DeadLetter &letter);
  // Stores them, counts their samples and logs it. `noun`: the word for the records.
  void settle(std::string_view noun);

 private:
  void append(const DeadLetter &letter);
  bool keep();

  Host host_;
  int64_t room_;
  std::unique_ptr<LineFile> file_;
  std::string lines_;
  std::string url_, answer_;  // of the last one
  std::vector<size_t> samples_;
  size_t records_ = 0;
};

}  // namespace atalaya::io
