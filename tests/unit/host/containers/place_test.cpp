// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/host/cgroup/place.h"

#include <doctest/doctest.h>

#include "tests/unit/host/containers/test_ids.h"

namespace atalaya::containers {
namespace {

const std::string kUid = "8f1c3c2e-0f6b-4b3c-9a57-2f1f0e6f9a11", kUidInSlice = "8f1c3c2e_0f6b_4b3c_9a57_2f1f0e6f9a11";
const std::string kUserManager = "/user.slice/user-1000.slice/user@1000.service";

// The path with "ID" and "UID" filled in.
std::string filled(std::string path) {
  const auto put = [&path](std::string_view mark, const std::string &text) {
    for (size_t at = path.find(mark); at != std::string::npos; at = path.find(mark, at + text.size()))
      path.replace(at, mark.size(), text);
  };
  put("POD_UID", kUidInSlice);
  put("POD-UID", kUid);
  put("ID", id("d1"));
  return path;
}

struct Expected {
  const char *path;
  cgroup::Runtime runtime;
};

TEST_CASE("the runtime and the id of a container are in its path") {
  const Expected cases[] = {
      {"/docker/ID", cgroup::Runtime::docker},
      {"/system.slice/docker-ID.scope", cgroup::Runtime::docker},
      {"/docker/ID/system.slice/nginx.service", cgroup::Runtime::docker},
      {"/user.slice/user-1000.slice/user@1000.service/user.slice/docker-ID.scope", cgroup::Runtime::docker},
      {"/machine.slice/libpod-ID.scope", cgroup::Runtime::podman},
      {"/machine.slice/libpod-ID.scope/container", cgroup::Runtime::podman},
      {"/machine.slice/machine-libpod_pod_e1e1.slice/libpod-ID.scope", cgroup::Runtime::podman},
      {"/libpod_parent/libpod-ID", cgroup::Runtime::podman},
      {"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-ID.scope/container", cgroup::Runtime::podman},
      {"/user.slice/user-1000.slice/user@1000.service/app.slice/web.service/libpod-payload-ID", cgroup::Runtime::podman},
      {"/system.slice/nerdctl-ID.scope", cgroup::Runtime::containerd},
      {"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podPOD_UID.slice/cri-containerd-ID.scope",
       cgroup::Runtime::containerd},
      {"/system.slice/containerd.service/kubepods-burstable-podPOD_UID.slice:cri-containerd:ID", cgroup::Runtime::containerd},
      {"/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-podPOD_UID.slice/cri-containerd-ID.scope",
       cgroup::Runtime::containerd},
      {"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podPOD_UID.slice/crio-ID.scope", cgroup::Runtime::crio},
      {"/kubepods/burstable/podPOD-UID/crio-ID", cgroup::Runtime::crio},
      {"/kubepods.slice/kubepods-podPOD_UID.slice/docker-ID.scope", cgroup::Runtime::docker},
      {"/kubepods/besteffort/podPOD-UID/ID", cgroup::Runtime::unknown},
      {"/ecs/0123456789abcdef0123456789abcdef/ID", cgroup::Runtime::unknown},
      {"/default/ID", cgroup::Runtime::unknown},
      {"/batch.slice/other-ID.scope", cgroup::Runtime::unknown},
      {"/../docker-ID.scope", cgroup::Runtime::docker},
  };
  for (const Expected &expected : cases) {
    CAPTURE(expected.path);
    const cgroup::Place place = cgroup::place_of(filled(expected.path));
    CHECK(place.runtime == expected.runtime);
    CHECK(place.id == id("d1"));
    CHECK(cgroup::container_of(filled(expected.path)) == "d1d1d1d1d1d1");
  }
}

TEST_CASE("LXC and nspawn name the container in its path") {
  struct Named {
    const char *path;
    cgroup::Runtime runtime;
    const char *name;
  };
  const Named cases[] = {
      {"/lxc.payload.web", cgroup::Runtime::lxc, "web"},
      {"/lxc.payload.web/system.slice/ssh.service", cgroup::Runtime::lxc, "web"},
      {"/lxc.payload/web", cgroup::Runtime::lxc, "web"},
      {"/lxc/101/ns/init.scope", cgroup::Runtime::lxc, "101"},
      {"/user.slice/user-1000.slice/session-1.scope/lxc.payload.my.box", cgroup::Runtime::lxc, "my.box"},
      {"/lxc/web/payload", cgroup::Runtime::lxc, "web"},
      {"/machine.slice/machine-lxc\\x2d4242\\x2dold\\x2dbox.scope", cgroup::Runtime::lxc, "old-box"},
      {"/machine.slice/machine-deb12.scope", cgroup::Runtime::nspawn, "deb12"},
      {"/machine.slice/machine-my\\x2dbox.scope/payload/system.slice/ssh.service", cgroup::Runtime::nspawn, "my-box"},
      {"/machine.slice/systemd-nspawn@deb12.service/payload/init.scope", cgroup::Runtime::nspawn, "deb12"},
  };
  for (const Named &expected : cases) {
    CAPTURE(expected.path);
    const cgroup::Place place = cgroup::place_of(expected.path);
    CHECK(place.runtime == expected.runtime);
    CHECK(place.id == expected.name);
  }
}

TEST_CASE("a path that only resembles a container is none") {
  const char *const paths[] = {
      "/docker/IDd",                                    // 65 digits
      "/docker/dID",                                    //
      "/docker/d1d1d1d1d1d1",                           // the short id
      "/docker/buildkit",                               //
      "/machine.slice/libpod-conmon-ID.scope",          // the monitor
      "/system.slice/crio-conmon-ID.scope",             //
      "/machine.slice/machine-libpod_pod_ID.slice",     // a pod's slice
      "/system.slice/ID-4f3a.service",                  // podman checks a container's health
      "/lxc.monitor.web",                               //
      "/lxc.monitor/web",                               //
      "/lxc/web/monitor",                               //
      "/lxc.payload.",                                  //
      "/machine.slice/machine-deb12.scope/supervisor",  //
      "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope",
      "/machine.slice/machine-lxc\\x2dbox.scope",
      "/machine.slice/machine-.scope",
      "/system.slice/ssh.service",
      "/",
      "",
      "//",
  };
  for (const char *path : paths) {
    CAPTURE(path);
    const cgroup::Place place = cgroup::place_of(filled(path));
    CHECK(place.runtime == cgroup::Runtime::none);
    CHECK(place.id.empty());
    CHECK(cgroup::container_of(filled(path)).empty());
  }
}

TEST_CASE("of containers within containers the innermost counts") {
  const cgroup::Place place =
      cgroup::place_of("/lxc.payload.ci/docker/" + id("d1") + "/system.slice/docker-" + id("d2") + ".scope");
  CHECK(place.runtime == cgroup::Runtime::docker);
  CHECK(place.id == id("d2"));
  CHECK(cgroup::place_of("/lxc.payload.ci/system.slice/crio-conmon-" + id("d1") + ".scope").id == "ci");
}

TEST_CASE("the pod's UID, as either driver of cgroups spells it") {
  CHECK(cgroup::place_of(filled("/kubepods/besteffort/podPOD-UID/ID")).pod == kUid);
  CHECK(cgroup::place_of(filled("/kubepods/podPOD-UID/ID")).pod == kUid);
  CHECK(cgroup::place_of(filled("/kubepods.slice/kubepods-podPOD_UID.slice/crio-ID.scope")).pod == kUid);
  CHECK(
      cgroup::place_of(filled("/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-podPOD_UID.slice/crio-ID.scope")).pod ==
      kUid);
  CHECK(cgroup::place_of(filled("/system.slice/containerd.service/kubepods-podPOD_UID.slice:cri-containerd:ID")).pod == kUid);
  CHECK(cgroup::place_of("/kubepods/burstable/pod0123456789abcdef0123456789abcdef/x").pod == "0123456789abcdef0123456789abcdef");
  CHECK(cgroup::place_of("/kubepods/besteffort").pod.empty());
  CHECK(cgroup::place_of("/kubepods/podcast").pod.empty());
  CHECK(cgroup::place_of("/machine.slice/machine-libpod_pod_0123456789abcdef0123456789abcdef.slice/x").pod.empty());
}

TEST_CASE("units and slices are the innermost, as systemctl prints them") {
  struct Unit {
    std::string path;
    const char *unit;
    const char *slice;
  };
  const Unit cases[] = {
      {"/system.slice/ssh.service", "ssh.service", "system.slice"},
      {"/system.slice/system-getty.slice/getty@tty1.service", "getty@tty1.service", "system-getty.slice"},
      {kUserManager + "/app.slice/foo.service", "foo.service", "app.slice"},
      {kUserManager + "/init.scope", "init.scope", "user-1000.slice"},
      {"/user.slice/user-1000.slice/session-3.scope", "session-3.scope", "user-1000.slice"},
      {"/user.slice/user@1.service/app.slice/x.scope/sub", "x.scope", "app.slice"},
      {kUserManager + "/app.slice/app-org.kde.konsole\\x2d42.scope", "app-org.kde.konsole-42.scope", "app.slice"},
      {"/system.slice/caf\\xc3\\xa9.service", "caf\xc3\xa9.service", "system.slice"},
      {"/system.slice/a\\x0ab\\x7f.service", "a\\x0ab\\x7f.service", "system.slice"},  // one line
      {"/system.slice/a\\xzz\\x2.service", "a\\xzz\\x2.service", "system.slice"},
      {"/system.slice/_cpu.service", "cpu.service", "system.slice"},
      {"/machine.slice/machine-deb12.scope/payload/system.slice/cron.service", "cron.service", "system.slice"},
      {"/.service", "", ""},
      {"/", "", ""},
  };
  for (const Unit &expected : cases) {
    CAPTURE(expected.path);
    const cgroup::Place place = cgroup::place_of(expected.path);
    CHECK(place.unit == expected.unit);
    CHECK(place.slice == expected.slice);
  }
}

TEST_CASE("the user is that of the slice in which the container runs") {
  CHECK(cgroup::place_of("/user.slice/user-1000.slice/session-1.scope").user == 1000u);
  CHECK(cgroup::place_of(kUserManager + "/user.slice/libpod-" + id("d1") + ".scope").user == 1000u);
  CHECK(cgroup::place_of("/user.slice/user@7.service/x").user == 7u);
  CHECK_FALSE(cgroup::place_of("/system.slice/ssh.service").user);
  CHECK_FALSE(cgroup::place_of("/user.slice/user-x.slice").user);
  CHECK_FALSE(cgroup::place_of("/user.slice/user-99999999999.slice").user);
  CHECK_FALSE(cgroup::place_of("/lxc.payload.web/user.slice/user-1000.slice/session-1.scope").user);  // one of the container's own
}

TEST_CASE("a host with both versions: the path with the container in it") {
  // docker with the driver "cgroupfs" does not use version 2 here: there the process is where containerd was.
  const std::string docker = "/docker/" + id("d1");
  const std::string text = "12:memory:" + docker + "\n11:cpu,cpuacct:" + docker + "\n1:name=systemd:" + docker +
                           "\n0::/system.slice/containerd.service\n";
  CHECK(cgroup::parse_cgroup(text) == docker);
  CHECK(cgroup::parse_cgroup("4:memory:" + docker + "\n1:name=systemd:/\n0::/\n") == docker);
  CHECK(cgroup::parse_cgroup("4:memory:/lxc.payload.x" + docker + "\n0::/lxc.payload.x\n") == "/lxc.payload.x" + docker);
  CHECK(cgroup::parse_cgroup("4:memory:" + docker + "\n0::/system.slice/docker-" + id("d1") + ".scope\n") ==
        "/system.slice/docker-" + id("d1") + ".scope");
}

TEST_CASE("the path of a removed cgroup is still that path") {
  CHECK(cgroup::parse_cgroup("0::/system.slice/ssh.service (deleted)\n") == "/system.slice/ssh.service");
  CHECK(cgroup::parse_cgroup("1:cpu:/odd (deleted)\n") == "/odd (deleted)");  // only version 2 marks it
}

TEST_CASE("ids and runtimes as people see them") {
  CHECK(cgroup::short_id(id("d1")) == "d1d1d1d1d1d1");
  CHECK(cgroup::short_id("web") == "web");
  CHECK(runtime_name(cgroup::Runtime::crio) == "crio");
  CHECK(runtime_name(cgroup::Runtime::none).empty());
  CHECK(runtime_name(cgroup::Runtime::unknown).empty());
}

TEST_CASE("the path with a job of Slurm wins over those of systemd and of version 2") {
  const std::string job = "/slurm/uid_1000/job_42/step_0/task_0";
  const std::string others = "9:name=systemd:/system.slice/slurmd.service\n4:memory:" + job + "\n2:cpu:/\n";
  CHECK(cgroup::parse_cgroup(others + "0::/system.slice/slurmd.service\n") == job);
  CHECK(cgroup::parse_cgroup("0::/system.slice/slurmd.service\n" + others) == job);
  CHECK(cgroup::parse_cgroup("4:memory:/slurm/uid_1000\n0::/system.slice/slurmd.service\n") == "/system.slice/slurmd.service");
  const std::string container = "/docker/" + std::string(64, 'a');
  CHECK(cgroup::parse_cgroup("4:memory:" + job + "\n0::" + container + "\n") == container);
}

TEST_CASE("the path with a container of YARN wins, too") {
  const std::string container = "/hadoop-yarn/container_1410901177871_0001_01_000005";
  CHECK(cgroup::parse_cgroup("4:cpu,cpuacct:" + container +
                             "\n1:name=systemd:/system.slice/yarn.service\n0::/system.slice/yarn.service\n") == container);
}

TEST_CASE("the application of a working directory of YARN") {
  const std::string folder = "/data/nm/usercache/me/appcache/application_1410901177871_0001/";
  CHECK(cgroup::yarn_application_of(folder + "container_1410901177871_0001_01_000005") == "application_1410901177871_0001");
  CHECK(cgroup::yarn_application_of(folder + "container_e17_1410901177871_0001_01_000005/tmp") == "application_1410901177871_0001");
  CHECK(cgroup::yarn_application_of(folder).empty());
  CHECK(cgroup::yarn_application_of("").empty());
}

TEST_CASE("jobs of Slurm and YARN") {
  struct Job {
    const char *path, *job, *step, *user;
  };
  const Job cases[] = {
      {"/slurm/uid_1000/job_42/step_0/task_3", "42", "0", "1000"},
      {"/slurm/uid_1000/job_42/step_batch/task_0", "42", "batch", "1000"},
      {"/slurm_node7/uid_0/job_9/step_extern", "9", "extern", "0"},
      {"/slurm/uid_1000/job_42", "42", "", "1000"},
      {"/system.slice/slurmstepd.scope/job_42/step_0/user/task_0", "42", "0", ""},
      {"/system.slice/node7_slurmstepd.scope/job_42/step_interactive/user/task_special", "42", "interactive", ""},
      {"/system.slice/slurmstepd.scope/job_42/step_1+0/user/task_0", "42", "1+0", ""},
      {"/system.slice/slurmstepd.scope/job_42/step_1+/user/task_0", "42", "", ""},
      {"/system.slice/slurmstepd.scope/system", "", "", ""},
      {"/slurm/uid_1000", "", "", ""},
      {"/slurm/uid_x/job_/step_", "", "", ""},
      {"/user.slice/job_42/step_0", "", "", ""},
      {"/hadoop-yarn/container_1410901177871_0001_01_000005", "application_1410901177871_0001", "", ""},
      {"/yarn.slice/container_e17_1410901177871_0031_02_000001", "application_1410901177871_0031", "", ""},
      {"/hadoop-yarn/container_1410901177871_0001_01", "", "", ""},
      {"/hadoop-yarn/container_eX_1410901177871_0001_01_000005", "", "", ""},
      {"/docker/container_a_b_c_d", "", "", ""},
  };
  for (const Job &expected : cases) {
    CAPTURE(expected.path);
    const cgroup::Place place = cgroup::place_of(expected.path);
    CHECK(place.job == expected.job);
    CHECK(place.job_step == expected.step);
    CHECK(place.job_user == expected.user);
  }
}

}  // namespace
}  // namespace atalaya::containers
