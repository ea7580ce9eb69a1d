// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/sink/dead_letters.h"

#include <algorithm>

#include "core/base/text/json_writer.h"

namespace atalaya::io {

void DeadLetters::open() {
  const auto folder = host_.state_dir();
  if (max_bytes_ == 0 || !folder) return;
  FileOptions options;
  options.path = *folder + "/dead-letters.jsonl";
  options.rotate_size = std::max<int64_t>(1, max_bytes_ / 2);
  options.keep = 1;
  file_ = std::make_unique<LineFile>(options, [host = host_](const std::string &text) { host.log(Level::warning, text); });
  file_->open();
}

void DeadLetters::add(const DeadLetter &letter) {
  append(letter);
  samples_.push_back(letter.sample);
  ++records_;
  url_ = letter.url;
  answer_ = (letter.status == 0 ? "" : std::to_string(letter.status) + ": ") + std::string(letter.message);
}

void DeadLetters::append(const DeadLetter &letter) {
  core::JsonWriter json(lines_);
  json.object().key("time").milliseconds(host_.realtime()).key("url").text(letter.url);
  if (letter.status != 0) json.key("status").integer(letter.status);
  json.key("answer").text(letter.message).key("record").text(letter.record).end_object();
  lines_ += '\n';
}

void DeadLetters::settle(std::string_view noun) {
  if (records_ == 0) return;
  std::sort(samples_.begin(), samples_.end());
  const auto count = static_cast<uint64_t>(std::unique(samples_.begin(), samples_.end()) - samples_.begin());
  const bool kept = store();
  if (kept) {
    host_.dead_letter(count);
  } else {
    host_.dropped("refused by the server", count);
  }
  host_.log(Level::warning, url_ + " refused " + std::to_string(records_) + " " + std::string(noun) + ", the last with " + answer_ +
                                (kept ? "; they are in dead-letters.jsonl of the state folder" : ""));
  lines_.clear();
  samples_.clear();
  records_ = 0;
}

bool DeadLetters::store() {
  if (!file_) return false;
  try {
    file_->append(lines_, host_.realtime());
    return true;
  } catch (const Failure &failure) {
    host_.log(Level::error, std::string("cannot store the refused records: ") + failure.what());
    return false;
  }
}

}  // namespace atalaya::io
