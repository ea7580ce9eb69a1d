// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <string>

#include "plugins/filters/recorder/trigger_list.h"
#include "plugins/filters/recorder/trigger_socket.h"
#include "tests/unit/sources/proc/host_fixture.h"

namespace atalaya::recorder {
namespace {

struct Samples {
  proc::test::FakeHost host;
  core::Batch memory;
  Batch batch{host.host(), &memory.raw()};
  const Sample &add(uint32_t kind, const char *key, const char *value, int64_t start_ns = 0) {
    Sample &sample = batch.add(kind, 1, 0);
    batch.tag(sample, host.host().intern(key), value);
    sample.time_ns = start_ns;
    return sample;
  }
};

TEST_CASE("samples with a matching tag are triggers, a repeated span only once") {
  Samples samples;
  TriggerList list(samples.host.host(), {"event=oom kill", "alert=*"});
  CHECK(list.cause_of(samples.add(ATALAYA_SPAN, "event", "oom kill", 5)) == "event=oom kill");
  CHECK_FALSE(list.cause_of(samples.add(ATALAYA_SPAN, "event", "oom kill", 5)));
  CHECK(list.cause_of(samples.add(ATALAYA_SPAN, "event", "oom kill", 6)));
  CHECK_FALSE(list.cause_of(samples.add(ATALAYA_SPAN, "event", "throttled", 7)));
  CHECK(list.cause_of(samples.add(ATALAYA_METRICS, "alert", "x")) == "alert=x");
  CHECK(list.cause_of(samples.add(ATALAYA_METRICS, "alert", "x")));
  CHECK_FALSE(list.cause_of(samples.add(ATALAYA_METRICS, "host", "h")));
  CHECK_THROWS_WITH(TriggerList(samples.host.host(), {"alert"}), "parameter \"on\": \"alert\" is not TAG=PATTERN, such as alert=*");
}

TEST_CASE("requests and answers read back the same; others are refused") {
  const auto request = parse_request(request_text({5, true, "page is slow"}));
  REQUIRE(request);
  CHECK(request->last_ns == 5);
  CHECK(request->is_user);
  CHECK(request->cause == "page is slow");
  CHECK_FALSE(parse_request(request_text({std::nullopt, false, ""}))->last_ns);
  CHECK(request_text({1, false, std::string(5000, 'x')}).size() == kMaxRequest);
  for (const char *bad : {"", "record", "record ", "record x 0 ", "record 1", "record 1 x", "recording 1 2"})
    CHECK_FALSE(parse_request(bad));
  CHECK_FALSE(parse_request("record 1 0 " + std::string(5000, 'x')));
  CHECK(parse_answer(answer_text({3, 4}))->until_ns == 4);
  for (const char *bad : {"", "recording 1", "recording 1 2 3", "recording a b"}) CHECK_FALSE(parse_answer(bad));
}

TEST_CASE("a recorder answers on its socket, which only its user may use; a second one is refused") {
  testing::TemporaryFolder folder;
  const std::string path = socket_path(folder.path(), "main");
  TriggerServer server;
  REQUIRE(server.open(path));
  struct stat found {};
  REQUIRE(::stat(path.c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  TriggerServer second;
  const core::Status refused = second.open(path);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == path + ": another recorder has this name; set the parameter name");
  REQUIRE(find_recorders(folder.path()).size() == 1);
  CHECK(find_recorders(folder.path())[0].name == "main");
  REQUIRE(send_request(path, {std::nullopt, false, "alert=x"}, 0));
  std::string cause;
  server.serve([&](const Request &request) {
    cause = request.cause;
    return Answer{1, 2};
  });
  CHECK(cause == "alert=x");
  server.close();
  CHECK(find_recorders(folder.path()).empty());
  CHECK_FALSE(send_request(path, {std::nullopt, false, "x"}, 0));
}

}  // namespace
}  // namespace atalaya::recorder
