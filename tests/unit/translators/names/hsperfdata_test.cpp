// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/hsperfdata/hsperfdata.h"

#include <doctest/doctest.h>

#include "tests/unit/translators/names/hsperfdata_maker.h"

namespace atalaya::testing {

namespace {

std::optional<std::string> java_command_in(const std::string &file) {
  const auto found = protocols::java_command_in(file);
  return found ? std::optional(std::string(*found)) : std::nullopt;
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

}  // namespace atalaya::testing
