// SPDX-License-Identifier: Apache-2.0
// Writers, rotations, looks and restarts in random order, against a model that knows every line.
#include <map>
#include <random>

#include "tests/unit/io/tail/fixture.h"

namespace atalaya::testing {
namespace {

namespace fs = std::filesystem;

class Schedule {
 public:
  Schedule(unsigned seed, bool copies, size_t max_files = 1000)
      : random_(seed),
        copies_(copies),
        few_open_(max_files < 10),
        log_(folder_.path() + "/app.log"),
        writer_(log_),
        reader_({.path = options(seed), .max_files = max_files}) {}

  void run(int steps) {
    look();  // files rotated before the first look have no owner
    for (int i = 0; i < steps; ++i) step();
    finish_line();
    for (int i = 0; i < 3; ++i) look();
    look_at_all();
    for (const auto &entry : lines_) {
      const State &state = entry.second;
      INFO(entry.first);
      CHECK(state.seen <= 1);
      CHECK((state.seen == 1 || state.may_be_lost));
    }
    if (!copies_ && !few_open_) CHECK(order_ == written_);
  }

 private:
  struct State {
    int seen = 0;
    bool may_be_lost = false;
  };

  std::string options(unsigned seed) const { return seed % 2 == 0 ? log_ : folder_.path() + "/app.log*"; }
  unsigned pick(unsigned n) { return std::uniform_int_distribution<unsigned>(0, n - 1)(random_); }

  void step() {
    switch (pick(10)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return write();
      case 4:
        return copies_ ? copy_and_truncate() : rename();
      case 5:
        for (unsigned i = pick(4); !copies_ && i > 0; --i) rename(), write();
        return;
      case 6:
        return reader_.restart();
      case 7:
        return begin_line();
      default:
        return look(1 + pick(20));
    }
  }

  void write() {
    finish_line();
    for (unsigned i = pick(pick(2) == 0 ? 5 : 60); i > 0; --i) add(std::string(pick(2) == 0 ? 0 : pick(300), 'x'));
  }
  void add(const std::string &padding) {
    begin(padding);
    finish_line();
  }
  void begin(const std::string &padding) {
    open_line_ = "line " + std::to_string(++count_) + " " + padding;
    lines_[open_line_];
    written_.push_back(open_line_);
    since_look_.push_back(open_line_);
    writer_.write(open_line_.substr(0, open_line_.size() / 2));
  }
  void begin_line() {
    if (open_line_.empty()) begin("in two parts");
  }
  void finish_line() {
    if (open_line_.empty()) return;
    writer_.write(open_line_.substr(open_line_.size() / 2) + "\n");
    open_line_.clear();
  }

  // The older ones move on by one number; at most six are kept, and none is deleted that was not looked at.
  void rename() {
    finish_line();
    if (generations_ == 6) {
      look();
      look();
      if (few_open_) look_at_all();
      for (; generations_ > 2; --generations_) fs::remove(log_ + "." + std::to_string(generations_));
    }
    for (int i = generations_; i > 0; --i) fs::rename(log_ + "." + std::to_string(i), log_ + "." + std::to_string(i + 1));
    fs::rename(log_, log_ + ".1");
    ++generations_;
    if (pick(2) == 0) add("to the renamed file");
    writer_.open();
  }

  void copy_and_truncate() {
    finish_line();
    fs::remove(log_ + ".1");
    const bool kept = pick(3) > 0;
    if (kept) fs::copy(log_, log_ + ".1");
    if (pick(3) == 0) look();
    // Nobody has the lines written between the copy and the truncation, unless it looks at that moment.
    if (kept) since_look_.clear();
    if (pick(2) == 0) write();
    finish_line();
    if (pick(3) == 0) look();
    for (const std::string &line : since_look_) lines_[line].may_be_lost = true;
    since_look_.clear();
    fs::resize_file(log_, 0);
    write();
    look();
  }

  void look(int64_t seconds = 1) {
    for (const std::string &line : reader_.look(seconds)) {
      const auto known = lines_.find(line);
      REQUIRE_MESSAGE(known != lines_.end(), "nobody wrote: " << line);
      ++known->second.seen;
      order_.push_back(line);
    }
    since_look_.clear();
    if (!open_line_.empty()) since_look_.push_back(open_line_);
  }

  // All files in their turn.
  void look_at_all() {
    for (int i = 0; i < (few_open_ ? 20 : 2); ++i) look(100);
  }

  std::mt19937 random_;
  const bool copies_, few_open_;
  TemporaryFolder folder_;
  std::string log_;
  Writer writer_;
  Reader reader_;
  int count_ = 0, generations_ = 0;
  std::string open_line_;
  std::map<std::string, State> lines_;
  Lines written_, since_look_, order_;
};

}  // namespace

TEST_CASE("tail: storms of renaming, with restarts, lose nothing, double nothing and keep the order") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Schedule(seed, false).run(120);
  }
}

TEST_CASE("tail: storms with few files open lose nothing and double nothing") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Schedule(seed, false, 1 + seed % 3).run(120);
  }
}

TEST_CASE("tail: copying and truncating doubles nothing and loses only unread lines") {
  for (unsigned seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    Schedule(seed, true).run(80);
  }
}

}  // namespace atalaya::testing
