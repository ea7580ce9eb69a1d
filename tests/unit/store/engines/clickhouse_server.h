// SPDX-License-Identifier: Apache-2.0
// A real ClickHouse server for the tests of one program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "core/base/files.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::store::test {

class ClickHouseServer {
 public:
  // The one of this program, which starts at the first call and ends with the program. Throws when it does not start.
  static ClickHouseServer &get();
  // Why there can be none here; nullptr: there can.
  static const char *missing();

  ClickHouseServer(const ClickHouseServer &) = delete;
  ClickHouseServer &operator=(const ClickHouseServer &) = delete;
  ~ClickHouseServer();

  // A new database without tables, as --store takes it.
  std::string make_database();
  // A statement in a database that it made.
  static void execute(const std::string &location, const char *sql);

 private:
  ClickHouseServer();
  void choose_port();
  void write_configuration() const;
  void run();
  bool answers() const;
  // Throws when it has ended.
  void check_runs();

  testing::TemporaryFolder folder_;
  core::Descriptor claim_;  // other tests see by it which port is taken
  uint16_t port_ = 0;
  pid_t process_ = -1;
  int databases_ = 0;
};

}  // namespace atalaya::store::test
