// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/store/engines/clickhouse_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>
#include <thread>

#include "plugins/shared/store/clickhouse/wire/client.h"

namespace atalaya::store::test {
namespace {

constexpr const char *kProgram = "/usr/sbin/clickhouse-server";
constexpr std::chrono::seconds kPatience{120};

core::Descriptor bound(int family, const sockaddr *address, socklen_t size) {
  core::Descriptor socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (::bind(socket.get(), address, size) != 0) socket.reset();
  return socket;
}

// The name by which tests/integration/http_servers.py claims a port too.
core::Descriptor claim(uint16_t port) {
  const std::string name = "atalaya-test-port-" + std::to_string(port);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::copy(name.begin(), name.end(), address.sun_path + 1);
  return bound(AF_UNIX, reinterpret_cast<const sockaddr *>(&address),
               static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size()));
}

bool is_free(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return static_cast<bool>(bound(AF_INET, reinterpret_cast<const sockaddr *>(&address), sizeof(address)));
}

clickhouse::ClientOptions options_of(const std::string &url) {
  return {clickhouse::parse_location(url), kPatience, kPatience};
}

}  // namespace

ClickHouseServer &ClickHouseServer::get() {
  static ClickHouseServer server;
  return server;
}

const char *ClickHouseServer::missing() {
  return std::filesystem::exists(kProgram) ? nullptr : "no clickhouse-server is installed";
}

ClickHouseServer::ClickHouseServer() {
  choose_port();
  write_configuration();
  run();
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (!answers()) {
    check_runs();
    if (std::chrono::steady_clock::now() > until) throw std::runtime_error("clickhouse-server does not answer");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

ClickHouseServer::~ClickHouseServer() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);  // an orderly end takes seconds, and its folder goes anyway
  ::waitpid(process_, nullptr, 0);
}

// Below those that connections get: see free_port in tests/integration/http_servers.py.
void ClickHouseServer::choose_port() {
  int first_of_connections = 0;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> first_of_connections;
  std::random_device random;
  std::uniform_int_distribution<int> ports(10'000, std::max(first_of_connections, 20'000) - 1);
  do {
    port_ = static_cast<uint16_t>(ports(random));
    claim_ = claim(port_);
  } while (!claim_ || !is_free(port_));
}

void ClickHouseServer::write_configuration() const {
  std::ofstream(folder_ / "users.xml")
      << "<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password/><networks><ip>127.0.0.1</ip>"
         "</networks><profile>default</profile><quota>default</quota></default></users></yandex>";
  std::ofstream(folder_ / "config.xml") << "<yandex><logger><level>warning</level><log>" << folder_ / "log"
                                        << "</log><errorlog>" << folder_ / "errors"
                                        << "</errorlog></logger><http_port>" << port_
                                        << "</http_port><listen_host>127.0.0.1</listen_host><path>" << folder_ / "data/"
                                        << "</path><tmp_path>" << folder_ / "tmp/"
                                        << "</tmp_path><mark_cache_size>104857600</mark_cache_size>"
                                        << "<users_config>users.xml</users_config><default_profile>default</default_profile>"
                                        << "<default_database>default</default_database></yandex>";
}

void ClickHouseServer::run() {
  const std::string configuration = "--config-file=" + folder_ / "config.xml";
  process_ = ::fork();
  if (process_ < 0) throw std::runtime_error("fork");
  if (process_ > 0) return;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that crashes leaves nothing behind
  const int nowhere = ::open("/dev/null", O_RDWR);
  for (const int fd : {0, 1, 2}) ::dup2(nowhere, fd);
  ::execl(kProgram, kProgram, configuration.c_str(), nullptr);
  ::_exit(127);
}

bool ClickHouseServer::answers() const {
  core::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return ::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0;
}

void ClickHouseServer::check_runs() {
  if (::waitpid(process_, nullptr, WNOHANG) == 0) return;
  process_ = -1;
  const auto said = core::read_file(folder_ / "errors", size_t{1} << 20);
  throw std::runtime_error("clickhouse-server ended: " + (said ? said.value() : said.error()));
}

std::string ClickHouseServer::make_database() {
  const std::string url = "http://127.0.0.1:" + std::to_string(port_) + "/";
  const std::string name = "test_" + std::to_string(++databases_);
  clickhouse::Client client(options_of(url + "default"));
  client.connect();
  client.execute(clickhouse::Sql("CREATE DATABASE ") << name.c_str());
  return "clickhouse:" + url + name;
}

void ClickHouseServer::execute(const std::string &location, const char *sql) {
  clickhouse::Client client(options_of(location.substr(location.find(':') + 1)));
  client.connect();
  client.execute(clickhouse::Sql(sql));
}

}  // namespace atalaya::store::test
