// SPDX-License-Identifier: Apache-2.0
// Each rule of the shared counters of JVMs, the file of a JVM as jstat reads it, and random files.
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

#include <algorithm>
#include <sstream>

#include "tests/unit/protocols/hsperfdata/hsperfdata_maker.h"
#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::testing {

namespace {

std::optional<std::string> java_command_in(const std::string &file) {
  const auto found = protocols::java_command_in(file);
  return found ? std::optional(std::string(*found)) : std::nullopt;
}

// As jstat prints them.
std::vector<std::string> lines_of(std::string_view file) {
  std::vector<std::string> out;
  protocols::SharedReader reader(file);
  for (protocols::SharedValue value; reader.next(value);) {
    const auto number = value.number();
    const auto text = value.text();
    out.push_back(std::string(value.name) + "=" +
                  (number ? std::to_string(*number)
                   : text ? "\"" + std::string(*text) + "\""
                          : std::string("?")));
  }
  return out;
}

}  // namespace

TEST_CASE("the arguments of a JVM are in its shared file") {
  CHECK(java_command_in(shared_file_saying("kafka.Kafka config/server.properties")) == "kafka.Kafka config/server.properties");
  CHECK(java_command_in(shared_file_saying("\xc3\xa9t\xc3\xa9 \"x\"\n(y)")) == "\xc3\xa9t\xc3\xa9 \"x\"\n(y)");
  CHECK_FALSE(java_command_in(shared_file_saying("")));
  CHECK_FALSE(java_command_in(shared_file({{"sun.rt.javaCommands", "a.B"}})));
  CHECK_FALSE(java_command_in(shared_file({{"sun.rt.javaCommand", "a.B", 'J'}})));
}

TEST_CASE("a shared file of another form has no values") {
  const std::string good = shared_file_saying("a.B");
  CHECK_FALSE(java_command_in(""));
  const auto with = [&](size_t at, char byte) {
    std::string file = good;
    file[at] = byte;
    return java_command_in(file);
  };
  CHECK(with(7, 0) == "a.B");     // not yet complete, but this is there
  CHECK_FALSE(with(0, 'x'));      // magic
  CHECK_FALSE(with(4, 0));        // big-endian
  CHECK_FALSE(with(5, 1));        // version 1
  CHECK_FALSE(with(27, '\x7f'));  // the entries begin behind the end
  CHECK_FALSE(with(28, 1));       // one entry only
  CHECK_FALSE(with(32, 19));      // an entry shorter than its header
  CHECK_FALSE(with(35, '\x7f'));  // an entry longer than the file
}

TEST_CASE("the entries start where the header says") {
  std::string file = shared_file_saying("a.B");
  file.insert(32, 8, 'x');
  file.replace(24, 4, bytes_of(40));
  CHECK(java_command_in(file) == "a.B");
}

TEST_CASE("a shared file that is cut or hostile is read within its bounds") {
  const std::string good = shared_file_saying("a.B c");
  for (size_t size = 0; size < good.size(); ++size) {
    const auto command = java_command_in(std::string(good, 0, size));
    CHECK((!command || command == "a.B c"));
  }
  // Each number of each entry, in turn the maximum: any result is within the file.
  for (size_t at = 24; at + 4 <= good.size(); at += 4)
    for (const uint32_t number : {0xffffffffU, 0x7fffffffU, 0U, 1U, 19U, static_cast<uint32_t>(good.size())}) {
      std::string file = good;
      file.replace(at, 4, bytes_of(number));
      if (const auto command = java_command_in(file)) CHECK(command->size() <= file.size());
    }
}

TEST_CASE("the file of a JVM has the values that jstat prints") {
  std::istringstream snap(protocols::testing::fixture("hsperfdata/jstat.txt"));
  std::vector<std::string> expected;
  for (std::string line; std::getline(snap, line);) expected.push_back(line);
  const std::string file = protocols::testing::fixture("hsperfdata/jdk17.bin");
  std::vector<std::string> lines = lines_of(file);
  std::sort(lines.begin(), lines.end());
  std::sort(expected.begin(), expected.end());
  CHECK(lines.size() == 182);
  CHECK(lines == expected);
  CHECK(java_command_in(file) == "Golden first two words caf\xc3\xa9");
}

TEST_CASE("random shared files have the entries that were written") {
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    protocols::testing::Random random(seed);
    std::vector<std::string> entries, expected;
    for (uint64_t i = random.below(12); i > 0; --i) {
      const std::string name = random.text("ab.", 12);
      if (random.one_of(2)) {
        const auto number = static_cast<int64_t>(random.below(uint64_t{1} << random.between(1, 62))) * (random.one_of(2) ? -1 : 1);
        entries.push_back(shared_number(name, number));
        expected.push_back(name + "=" + std::to_string(number));
      } else {
        const std::string text = random.one_of(4) ? "" : random.text("a =\n\xc3\xa9", 30);
        entries.push_back(shared_entry({name, text}));
        expected.push_back(name + "=\"" + text + "\"");
      }
    }
    CAPTURE(seed);
    REQUIRE(lines_of(shared_file_of(entries)) == expected);
  }
}

TEST_CASE("a mutated file of a JVM is read within its bounds") {
  const std::string whole = protocols::testing::fixture("hsperfdata/jdk17.bin");
  for (uint32_t seed = 0; seed < test::rounds(4000); ++seed) {
    protocols::testing::Random random(seed);
    // A copy of its own size, so that sanitizers see each byte beyond its end.
    std::string file = whole.substr(0, random.between(32, whole.size()));
    for (uint64_t i = random.between(1, 6); i > 0; --i)
      file[random.one_of(3) ? random.below(40) : random.below(file.size())] = static_cast<char>(random.below(256));
    protocols::SharedReader reader(file);
    size_t bytes = 0;
    for (protocols::SharedValue value; reader.next(value);) {
      for (const std::string_view view : {value.name, value.bytes}) {
        if (view.empty()) continue;
        REQUIRE(view.data() >= file.data());
        REQUIRE(view.data() + view.size() <= file.data() + file.size());
      }
      bytes += value.name.size() + value.bytes.size();
    }
    CAPTURE(seed);
    REQUIRE(bytes <= 2 * file.size());
  }
}

}  // namespace atalaya::testing
