// SPDX-License-Identifier: Apache-2.0
// A writer of lines that rotates, and a reader that can be killed.
#pragma once

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "plugins/shared/io/tail/journal.h"
#include "plugins/shared/io/tail/tail.h"
#include "tests/unit/lines.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::testing {

using Lines = std::vector<std::string>;
inline constexpr int64_t kSecond = 1'000'000'000;
inline constexpr int64_t kBegan = 1'000 * kSecond;  // long before any file of a test is written

// A program with its log open: writes go where the file is, whatever it is called now.
class Writer {
 public:
  explicit Writer(std::string path) : path_(std::move(path)) { open(); }
  void open() { file_ = core::Descriptor(::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)); }
  void write(const std::string &text) { REQUIRE(::write(file_.get(), text.data(), text.size()) == ssize_t(text.size())); }
  const std::string &path() const { return path_; }

 private:
  std::string path_;
  core::Descriptor file_;
};

class Reader {
 public:
  explicit Reader(tail::Options options) : options_(std::move(options)) { begin(); }

  // The lines of one look.
  Lines look(int64_t seconds = 1) {
    now += seconds * kSecond;
    tail->scan(kBegan + now, now);
    return rest();
  }
  Lines rest() {
    Lines lines;
    tail::Line line;
    while (tail->next(line)) lines.emplace_back(line.text);
    return lines;
  }
  // Look after look, until one finds nothing more to read at once.
  Lines drain(int64_t seconds = 0) {
    Lines lines = look(seconds);
    while (tail->has_unread_lines()) {
      const Lines more = look(0);
      lines.insert(lines.end(), more.begin(), more.end());
    }
    return lines;
  }
  // The agent ends and starts again with its saved state.
  void restart() {
    auto kept = tail::parse_journal(tail::journal_text({0, tail->began_ns(), tail->positions(), 0, {}, {}}));
    REQUIRE_MESSAGE(kept.ok(), (kept ? "" : kept.error()));
    begin();
    tail->restore(kept->positions, kept->began_ns, {});
  }
  void begin() {
    tail = std::make_unique<tail::Tail>(options_, [this](const std::string &text) { said.push_back(text); });
  }
  bool heard(const std::string &part) const {
    for (const std::string &line : said)
      if (line.find(part) != std::string::npos) return true;
    return false;
  }

  std::unique_ptr<tail::Tail> tail;
  Lines said;
  int64_t now = 0;

 private:
  tail::Options options_;
};

}  // namespace atalaya::testing
