// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "plugins/shared/host/containers/containers.h"
#include "tests/unit/host/containers/test_ids.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::containers {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSecond = 1'000'000'000;
const std::string kHost = "tests/fixtures/containers/host";

void write(const std::string &path, std::string_view text) {
  fs::create_directories(fs::path(path).parent_path());
  // As the runtimes do it: never half a file under the name.
  std::ofstream(path + ".new", std::ios::binary) << text;
  fs::rename(path + ".new", path);
}

std::string docker_config(const std::string &id, const std::string &name) {
  return R"({"ID":")" + id + R"(","Name":"/)" + name + R"("})";
}

std::string docker_path(const std::string &root, const std::string &id) {
  return root + "/var/lib/docker/containers/" + id + "/config.v2.json";
}

cgroup::Place docker_place(const std::string &id) {
  return cgroup::place_of("/system.slice/docker-" + id + ".scope");
}

TEST_CASE("each runtime's containers have the names that their runtime gave them") {
  struct Named {
    std::string path;
    const char *name;
  };
  const std::string pod = "/kubepods.slice/kubepods-pod8f1c3c2e_0f6b_4b3c_9a57_2f1f0e6f9a11.slice";
  const Named cases[] = {
      {"/docker/" + id("d1"), "shop-web-1"},
      {"/system.slice/docker-" + id("d2") + ".scope", "brave_turing"},
      {pod + "/docker-" + id("d3") + ".scope", "prod/web-7d9f/nginx"},
      {pod + "/docker-" + id("d4") + ".scope", "prod/web-7d9f"},
      {"/machine.slice/libpod-" + id("b1") + ".scope", "cache"},
      {"/machine.slice/libpod-" + id("b2") + ".scope/container", "job"},
      {"/system.slice/web.service/libpod-payload-" + id("b3"), "transient"},
      {pod + "/crio-" + id("c1") + ".scope", "test/api-0/app"},
      {"/kubepods/burstable/pod8f1c3c2e-0f6b-4b3c-9a57-2f1f0e6f9a11/crio-" + id("c2"), "test/api-0"},
      {pod + "/crio-" + id("c3") + ".scope", "test/api-0/app"},
      {pod + "/cri-containerd-" + id("e1") + ".scope", "prod/db-0/postgres"},
      {"/system.slice/containerd.service" + pod + ":cri-containerd:" + id("e2"), "prod/db-0"},
      {"/default/" + id("e3"), "proxy"},
      {"/kubepods/besteffort/pod8f1c3c2e-0f6b-4b3c-9a57-2f1f0e6f9a11/" + id("e4"), "kube-system/traefik-1/traefik"},
      {"/kubepods/besteffort/pod8f1c3c2e-0f6b-4b3c-9a57-2f1f0e6f9a11/" + id("d3"), "prod/web-7d9f/nginx"},
      {"/odd-parent/" + id("b1"), "cache"},
      {"/lxc.payload.web/system.slice/ssh.service", "web"},
      {"/machine.slice/machine-my\\x2dbox.scope", "my-box"},
  };
  ContainerNames names({.root = kHost});
  for (const Named &expected : cases) {
    CAPTURE(expected.path);
    const Container &container = names.find(cgroup::place_of(expected.path), 0);
    CHECK(container.name == expected.name);
    CHECK(container.known);
  }
}

TEST_CASE("labels of Compose and Kubernetes") {
  ContainerNames names({.root = kHost + "/"});
  const Container compose = names.find(docker_place(id("d1")), 0);
  CHECK(compose.project == "shop");
  CHECK(compose.service == "web");
  CHECK(compose.pod.empty());
  const Container postgres = names.find(cgroup::place_of("/kubepods/cri-containerd-" + id("e1") + ".scope"), 0);
  CHECK(postgres.pod == "db-0");
  CHECK(postgres.name_space == "prod");
}

TEST_CASE("a process in no container has no name of one") {
  ContainerNames names({.root = kHost});
  const Container &container = names.find(cgroup::place_of("/system.slice/ssh.service"), 0);
  CHECK(container.name.empty());
  CHECK(container.known);
}

// The home of a user, with files of that user: the user of the test, or without root another user.
struct Home {
  testing::TemporaryFolder root;
  uid_t user = ::geteuid() != 0 ? ::geteuid() : 4242;

  Home() {
    fs::create_directories(root / "home");
    fs::copy("tests/fixtures/containers/home", root / "home/ana", fs::copy_options::recursive);
    write(root / "etc/passwd", "root:x:0:0::/root:/bin/sh\nana:x:" + std::to_string(user) + ":100::/home/ana:/bin/sh\n");
    give(root / "home/ana");
  }
  void give(const std::string &path) const {
    if (::geteuid() != 0) return;
    for (const auto &entry : fs::recursive_directory_iterator(path)) REQUIRE(::lchown(entry.path().c_str(), user, user) == 0);
  }
  cgroup::Place place(const std::string &unit) const {
    const std::string id = std::to_string(user);
    return cgroup::place_of("/user.slice/user-" + id + ".slice/user@" + id + ".service/user.slice/" + unit);
  }
};

TEST_CASE("rootless: podman's and docker's containers are named from the user's home") {
  const Home home;
  ContainerNames names({.root = home.root.path()});
  CHECK(names.find(home.place("libpod-" + id("a1") + ".scope/container"), 0).name == "notes");
  CHECK(names.find(home.place("user-libpod_pod_x.slice/libpod-" + id("a2") + ".scope"), 0).name == "scratch");
  CHECK(names.find(home.place("docker-" + id("a3") + ".scope"), 0).name == "lab");
  write(home.root / ("run/user/" + std::to_string(home.user) + "/containers/overlay-containers/volatile-containers.json"),
        R"([{"id":")" + id("a4") + R"(","names":["brief"]}])");
  home.give(home.root / "run/user");
  CHECK(names.find(home.place("libpod-" + id("a4") + ".scope"), 0).name == "brief");
}

TEST_CASE("a user cannot rename the system's containers, nor those of another") {
  const Home home;
  write(docker_path(home.root.path(), id("a3")), docker_config(id("a3"), "real"));
  ContainerNames names({.root = home.root.path()});
  CHECK(names.find(home.place("docker-" + id("a3") + ".scope"), 0).name == "lab");
  CHECK(names.find(docker_place(id("a3")), 0).name == "real");
  CHECK(names.find(home.place("docker-" + id("a3") + ".scope"), 0).name == "lab");
  CHECK_FALSE(names.find(cgroup::place_of("/user.slice/user-77.slice/docker-" + id("a3") + ".scope"), 0).known);
  ContainerNames system({.root = kHost});
  for (const std::string &scope : {"cri-containerd-" + id("e1"), "crio-" + id("c1"), "other-" + id("e3"), "libpod-" + id("b1")})
    CHECK_FALSE(system.find(cgroup::place_of("/user.slice/user-77.slice/" + scope + ".scope"), 0).known);
  // A file of someone else's in the user's folder.
  if (::geteuid() != 0) return;
  const std::string list = home.root / "home/ana/.local/share/containers/storage/overlay-containers/containers.json";
  REQUIRE(::chown(list.c_str(), 99, 99) == 0);
  CHECK_FALSE(names.find(home.place("libpod-" + id("a1") + ".scope"), 0).known);
}

TEST_CASE("a late name is found within half the time that it was missing, and the id replaces it until then") {
  for (const int64_t late : {kSecond / 10, 2 * kSecond, 8 * kSecond}) {
    const testing::TemporaryFolder root;
    ContainerNames names({.root = root.path()});
    int64_t now = 0;
    for (; now < late; now += kSecond / 10) {
      CHECK(names.find(docker_place(id("d1")), now).name == "d1d1d1d1d1d1");
      CHECK_FALSE(names.find(docker_place(id("d1")), now).known);
    }
    write(docker_path(root.path(), id("d1")), docker_config(id("d1"), "web"));
    while (!names.find(docker_place(id("d1")), now).known) {
      now += kSecond / 10;
      REQUIRE(now <= late + late / 2 + kSecond / 2);
    }
    CHECK(names.find(docker_place(id("d1")), now).name == "web");
  }
}

TEST_CASE("a name that never comes is looked for every half minute at most, and found when it does") {
  const testing::TemporaryFolder root;
  ContainerNames names({.root = root.path()});
  int64_t now = 0;
  for (; now < 3600 * kSecond; now += kSecond) names.find(docker_place(id("d1")), now);
  write(docker_path(root.path(), id("d1")), docker_config(id("d1"), "web"));
  int asked = 1;
  for (; !names.find(docker_place(id("d1")), now).known; now += kSecond) ++asked;
  CHECK(asked > 1);
  CHECK(asked <= 31);
}

TEST_CASE("a container that was renamed has its new name a minute later, one that is gone keeps its last") {
  const testing::TemporaryFolder root;
  write(docker_path(root.path(), id("d1")), docker_config(id("d1"), "web"));
  ContainerNames names({.root = root.path()});
  CHECK(names.find(docker_place(id("d1")), 0).name == "web");
  write(docker_path(root.path(), id("d1")), docker_config(id("d1"), "shop"));
  CHECK(names.find(docker_place(id("d1")), 59 * kSecond).name == "web");
  CHECK(names.find(docker_place(id("d1")), 60 * kSecond).name == "shop");
  fs::remove_all(root / "var");
  CHECK(names.find(docker_place(id("d1")), 120 * kSecond).name == "shop");
  CHECK(names.find(docker_place(id("d1")), 180 * kSecond).known);
}

TEST_CASE("a storage list that changes, goes and comes back") {
  const testing::TemporaryFolder root;
  const std::string list = root / "var/lib/containers/storage/overlay-containers/containers.json";
  const auto entry = [](const char *digits, const char *name) {
    return R"({"id":")" + id(digits) + R"(","names":[")" + name + R"("]})";
  };
  const auto place = [](const char *digits) { return cgroup::place_of("/machine.slice/libpod-" + id(digits) + ".scope"); };
  write(list, "[" + entry("b1", "one") + "]");
  ContainerNames names({.root = root.path()});
  CHECK(names.find(place("b1"), 0).name == "one");
  CHECK_FALSE(names.find(place("b2"), 0).known);
  write(list, "[" + entry("b1", "one") + "," + entry("b2", "two") + "]");
  CHECK(names.find(place("b2"), kSecond).name == "two");
  fs::remove(list);
  CHECK_FALSE(names.find(place("b3"), kSecond).known);
  write(list, "[" + entry("b3", "three") + "]");
  CHECK(names.find(place("b3"), 2 * kSecond).name == "three");
}

TEST_CASE("docker's data where daemon.json puts it") {
  const testing::TemporaryFolder root;
  write(root / "etc/docker/daemon.json", R"({"data-root":"/data/docker"})");
  write(root / ("data/docker/containers/" + id("d1") + "/config.v2.json"), docker_config(id("d1"), "web"));
  ContainerNames names({.root = root.path()});
  CHECK(names.find(docker_place(id("d1")), 0).name == "web");
}

TEST_CASE("the number of stored containers is limited: the least recently requested one is removed") {
  const testing::TemporaryFolder root;
  for (const char *digits : {"d1", "d2", "d3"})
    write(docker_path(root.path(), id(digits)), docker_config(id(digits), std::string("name-") + digits));
  ContainerNames names({.root = root.path(), .capacity = 2});
  names.find(docker_place(id("d1")), 0);
  names.find(docker_place(id("d2")), 0);
  names.find(docker_place(id("d1")), 0);
  names.find(docker_place(id("d3")), 0);  // takes the place of d2
  fs::remove_all(root / "var");
  CHECK(names.find(docker_place(id("d1")), 0).known);
  CHECK(names.find(docker_place(id("d3")), 0).known);
  CHECK_FALSE(names.find(docker_place(id("d2")), 0).known);
}

struct Fixture {
  testing::TemporaryFolder root;
  std::vector<std::string> lines;
  ContainerNames names{{.root = root.path()}, [this](std::string_view line) { lines.emplace_back(line); }};
  void find_for_a_minute(const cgroup::Place &place) {
    for (int64_t now = 0; now <= 60 * kSecond; now += kSecond) names.find(place, now);
  }
};

TEST_CASE("a reason for missing names is reported once, with the file and the fix") {
  Fixture fixture;
  const std::string file = docker_path(fixture.root.path(), id("d1"));
  write(file, "{\"ID\":");
  write(docker_path(fixture.root.path(), id("d2")), "nonsense");
  fixture.names.find(docker_place(id("d1")), 0);
  CHECK(fixture.lines.empty());  // it may be being written
  fixture.find_for_a_minute(docker_place(id("d1")));
  fixture.find_for_a_minute(docker_place(id("d2")));
  REQUIRE(fixture.lines.size() == 1);
  CHECK(fixture.lines[0] ==
        "names of containers are missing, their ids are used instead: " + file + ": unknown format, not written by docker");
}

TEST_CASE("a host without any state files reports no error") {
  Fixture fixture;
  fixture.find_for_a_minute(cgroup::place_of("/odd/" + id("d1")));
  CHECK(fixture.lines.empty());
}

TEST_CASE("a hostile list: too large, not JSON, a link, and the others continue") {
  Fixture fixture;
  const std::string folder = fixture.root / "var/lib/containers/storage/";
  write(folder + "overlay-containers/containers.json", std::string((size_t{4} << 20) + 1, ' '));
  write(folder + "overlay-containers/volatile-containers.json", std::string(1 << 20, '['));
  fs::create_directories(folder + "vfs-containers");
  fs::create_symlink(folder + "good", folder + "vfs-containers/containers.json");
  write(folder + "zfs-containers/containers.json", R"([{"id":")" + id("b1") + R"(","names":["web"]}])");
  CHECK(fixture.names.find(cgroup::place_of("/machine.slice/libpod-" + id("b1") + ".scope"), 0).name == "web");
  fixture.find_for_a_minute(cgroup::place_of("/machine.slice/libpod-" + id("b2") + ".scope"));
  REQUIRE(fixture.lines.size() == 1);
  CHECK(fixture.lines[0].ends_with("overlay-containers/containers.json: larger than 4194304 bytes"));
}

TEST_CASE("missing permission to read is reported once, with the fix") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root can give up rights");
    return;
  }
  Fixture fixture;
  write(docker_path(fixture.root.path(), id("d1")), docker_config(id("d1"), "web"));
  fs::permissions(fixture.root.path(), fs::perms::others_exec, fs::perm_options::add);
  fs::permissions(fixture.root / "var/lib/docker", fs::perms::owner_all);
  REQUIRE(::seteuid(65534) == 0);
  fixture.find_for_a_minute(docker_place(id("d1")));
  REQUIRE(::seteuid(0) == 0);
  REQUIRE(fixture.lines.size() == 1);
  CHECK(fixture.lines[0].ends_with(": permission denied; run as root or grant CAP_DAC_READ_SEARCH"));
}

TEST_CASE("state that comes and goes while it is read: the name or the id, nothing else") {
  const testing::TemporaryFolder root;
  ContainerNames names({.root = root.path()});
  std::atomic<bool> end = false;
  std::thread runtime([&] {
    while (!end) {
      write(docker_path(root.path(), id("d1")), docker_config(id("d1"), "web"));
      fs::remove_all(root / "var");
    }
  });
  for (int64_t i = 0; i < 500; ++i) {
    const std::string other = id(std::to_string(10 + i % 90));  // its look-up races with the runtime too
    const Container &container = names.find(docker_place(i % 2 == 0 ? id("d1") : other), i * 60 * kSecond);
    if (i % 2 == 0) CHECK((container.name == "web" || container.name == "d1d1d1d1d1d1"));
  }
  end = true;
  runtime.join();
}

}  // namespace
}  // namespace atalaya::containers
