// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/http/server/tokens.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "plugins/shared/io/http/server/listen.h"
#include "plugins/shared/io/http/server/options.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::http_server {

namespace {

void write(const std::string &path, const std::string &text, mode_t mode = 0600) {
  const std::string made = path + ".new";
  std::ofstream(made) << text;
  REQUIRE(::chmod(made.c_str(), mode) == 0);
  REQUIRE(std::rename(made.c_str(), path.c_str()) == 0);
}

}  // namespace

TEST_CASE("http server: tokens by Bearer and as the password of Basic") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "tokens";
  write(path, "# comment\n secret1 \n\nsecret2\n");
  const Tokens tokens(path);
  CHECK(tokens.allow("Bearer secret1"));
  CHECK(tokens.allow("bearer  secret2"));
  CHECK(tokens.allow("Basic bm9kZTpzZWNyZXQx"));  // node:secret1
  for (const char *wrong : {"", "Bearer", "Bearer ", "Bearer secret", "Bearer secret11", "Bearer # comment", "secret1", "Basic !!",
                            "Basic bm9kZQ==", "Basic"})
    CHECK_FALSE_MESSAGE(tokens.allow(wrong), wrong);
}

TEST_CASE("http server: an unusable file of tokens is reported with the reason, a new one takes effect") {
  const testing::TemporaryFolder folder;
  const std::string path = folder / "tokens";
  CHECK_THROWS_WITH_AS(Tokens{path}, doctest::Contains("No such file or directory; create it with one secret per line"),
                       std::runtime_error);
  write(path, "secret\n", 0644);
  CHECK_THROWS_WITH_AS(Tokens{path}, doctest::Contains("chmod 640"), std::runtime_error);
  write(path, "# nothing\n");
  CHECK_THROWS_WITH_AS(Tokens{path}, doctest::Contains("no token; write one per line"), std::runtime_error);
  write(path, "one\n");
  Tokens tokens(path);
  CHECK(tokens.refresh());
  write(path, "second\n");
  CHECK(tokens.refresh());
  CHECK(tokens.allow("Bearer second"));
  CHECK_FALSE(tokens.allow("Bearer one"));
  write(path, "");
  CHECK(tokens.refresh().error().find("no token; write one per line") != std::string::npos);
  CHECK(tokens.allow("Bearer second"));
}

TEST_CASE("http server: addresses") {
  CHECK(parse_address("127.0.0.1:4242").host == "127.0.0.1");
  CHECK(parse_address("[::1]:0").host == "::1");
  CHECK(parse_address("*:4242").port == "4242");
  for (const char *wrong : {"", "4242", ":4242", "host:", "host:70000", "::1:4242", "host:12x", "[]:1"})
    CHECK_THROWS_WITH_AS(parse_address(wrong), doctest::Contains("ADDRESS:PORT"), std::runtime_error);
  const Listener first = open_listener(parse_address("127.0.0.1:0"));
  CHECK_FALSE(first.reachable);
  CHECK_THROWS_WITH_AS(open_listener(parse_address(first.name)), doctest::Contains("another program uses this address"),
                       std::runtime_error);
}

TEST_CASE("http server: a private key that everyone can read is no key") {
  const testing::TemporaryFolder folder;
  write(folder / "cert", "certificate", 0644);
  write(folder / "key", "key", 0644);
  Options options;
  const TlsFiles files{folder / "cert", folder / "key"};
  CHECK_THROWS_WITH_AS(load_tls(files, options), doctest::Contains("readable or writable by everyone; run chmod 640"),
                       std::runtime_error);
  write(folder / "key", "key", 0640);
  CHECK_THROWS_WITH_AS(load_tls(files, options), doctest::Contains("certificate and key must be PEM files that match"),
                       std::runtime_error);
}

TEST_CASE("http server: an address that other hosts can reach needs a token, or open = true") {
  const Listener own = open_listener(parse_address("127.0.0.1:0"));
  CHECK_NOTHROW(check_reach(own, false, false));
  const Listener all = open_listener(parse_address("*:0"));
  CHECK(all.reachable);
  CHECK_THROWS_WITH_AS(check_reach(all, false, false), doctest::Contains("set tokens to a file, or open = true"),
                       std::runtime_error);
  CHECK_NOTHROW(check_reach(all, true, false));
  CHECK_NOTHROW(check_reach(all, false, true));
}

}  // namespace atalaya::http_server
