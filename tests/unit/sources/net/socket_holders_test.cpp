// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/net/socket_holders.h"

#include <doctest/doctest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/base/files.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::net {
namespace {

TEST_CASE("links to sockets have numbers, others have none") {
  CHECK(socket_inode("socket:[12345]") == 12345u);
  for (const char *link : {"pipe:[12345]", "socket:[]", "socket:[x]", "socket:[99999999999]", "socket:[1", "/tmp/socket:[1]", ""})
    CHECK_FALSE(socket_inode(link).has_value());
}

TEST_CASE("a socket is found at the process that holds it") {
  const core::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct stat status {};
  REQUIRE(::fstat(socket.get(), &status) == 0);
  SocketHolders holders;
  CHECK(holders.find(static_cast<uint32_t>(status.st_ino)) == nullptr);
  holders.refresh();
  const net_owner *owner = holders.find(static_cast<uint32_t>(status.st_ino));
  REQUIRE(owner != nullptr);
  CHECK(owner->pid == ::getpid());
  CHECK(owner->start_ns > 0);
  CHECK(std::string(owner->comm) == "unit_net");
}

TEST_CASE("an invisible socket has no holder") {
  testing::TemporaryFolder folder;
  const std::filesystem::path process = std::filesystem::path(folder.path()) / "12";
  std::filesystem::create_directories(process / "fd");
  std::filesystem::create_symlink("socket:[7]", process / "fd/3");
  SocketHolders holders(folder.path());
  holders.refresh();  // it has no stat: it has just ended
  CHECK(holders.find(7) == nullptr);
  std::ofstream(process / "stat") << "12 (a b) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20";
  holders.refresh();
  REQUIRE(holders.find(7) != nullptr);
  CHECK(std::string(holders.find(7)->comm) == "a b");
  CHECK(holders.find(8) == nullptr);
  SocketHolders nowhere("/nowhere");
  nowhere.refresh();
  CHECK(nowhere.find(7) == nullptr);
}

}  // namespace
}  // namespace atalaya::net
