// SPDX-License-Identifier: Apache-2.0
// Stores records that a server refuses permanently in dead-letters.jsonl in the sink's state folder; counts them in the ledger.
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
  int status;  // status of the HTTP answer; 0: the server sent only a message
  std::string_view message, record;
};

class DeadLetters {
 public:
  // `max_bytes`: of all stored records; the oldest half is deleted first. 0: records are counted, but not stored.
  DeadLetters(Host host, int64_t max_bytes) : host_(host), max_bytes_(max_bytes) {}

  void open();  // throws Failure
  void close() { file_.reset(); }

  // Adds a record of the current batch. A sample with several refused records is counted once.
  void add(const DeadLetter &letter);
  // Ends the batch: stores its refused records, counts their samples, logs their number. `noun` is the name of a record in the
  // log.
  void settle(std::string_view noun);

 private:
  void append(const DeadLetter &letter);
  bool store();

  Host host_;
  int64_t max_bytes_;
  std::unique_ptr<LineFile> file_;
  std::string lines_;
  std::string url_, answer_;  // URL and answer of the last record
  std::vector<size_t> samples_;
  size_t records_ = 0;
};

}  // namespace atalaya::io
