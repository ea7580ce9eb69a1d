// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/attach.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <fstream>
#include <future>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "plugins/shared/code/jvm/as_user.h"
#include "plugins/shared/code/jvm/attach_support.h"
#include "tests/unit/protocols/hsperfdata/hsperfdata_maker.h"

namespace atalaya::jvm {
namespace {

using testing::shared_file;
constexpr int64_t kTimeout = 200'000'000;

int answers = -1;

// A process with the shared files of a JVM that counts signals, but opens no socket.
class Pretender {
 public:
  explicit Pretender(const std::string &shared, const char *folder = "/", const char *name = "unit_symbols") {
    REQUIRE(::pipe(pipe_.data()) == 0);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::prctl(PR_SET_NAME, name);
      pretend(shared, folder);
    }
    ::close(pipe_[1]);
    char byte = 0;
    REQUIRE(::read(pipe_[0], &byte, 1) == 1);
  }
  Pretender(const Pretender &) = delete;
  Pretender &operator=(const Pretender &) = delete;
  ~Pretender() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(pipe_[0]);
    ::unlink(path(pid_).c_str());
    ::rmdir("/tmp/hsperfdata_atalaya-test");
  }

  Target target() const { return {pid_, *symbols::read_mark(pid_), *symbols::read_status(pid_)}; }
  // All that were sent so far: another one behind them shows when they have arrived.
  int signals() const {
    ::kill(pid_, SIGUSR1);
    int count = 0;
    for (char byte = 0; ::read(pipe_[0], &byte, 1) == 1 && byte != '.';) ++count;
    return count;
  }
  bool is_alive() const { return ::waitpid(pid_, nullptr, WNOHANG) == 0; }
  std::string trigger(const std::string &folder) const { return folder + "/.attach_pid" + std::to_string(pid_); }

 private:
  static std::string path(pid_t pid) { return "/tmp/hsperfdata_atalaya-test/" + std::to_string(pid); }
  [[noreturn]] void pretend(const std::string &shared, const char *folder) const {
    ::mkdir("/tmp/hsperfdata_atalaya-test", 0755);
    std::ofstream(path(::getpid())) << shared;
    const int file = ::open(path(::getpid()).c_str(), O_RDWR | O_CLOEXEC);
    if (file >= 0) (void)::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    answers = pipe_[1];
    struct sigaction quit {
    }, fence{};
    ::sigfillset(&quit.sa_mask);
    ::sigfillset(&fence.sa_mask);  // SIGQUIT has the lower number, so it is delivered before
    quit.sa_handler = [](int) { (void)!::write(answers, "q", 1); };
    fence.sa_handler = [](int) { (void)!::write(answers, ".", 1); };
    ::sigaction(SIGQUIT, &quit, nullptr);
    ::sigaction(SIGUSR1, &fence, nullptr);
    for (const char *left : {"/tmp/.java_pid", "/tmp/.attach_pid", "/var/tmp/.attach_pid"})  // of a killed JVM of this number
      ::unlink((left + std::to_string(::getpid())).c_str());
    (void)!::chdir(folder);
    (void)!::write(answers, "r", 1);
    for (;;) ::pause();
  }

  std::array<int, 2> pipe_{};
  pid_t pid_ = -1;
};

std::string jdk(const std::string &version, const std::string &options = "-Xmx64m") {
  return shared_file({{"java.property.java.version", version}, {"java.rt.vmArgs", options}});
}

bool exists(const std::string &path) {
  return ::access(path.c_str(), F_OK) == 0;
}

}  // namespace

TEST_CASE("requests to a JVM, and its responses") {
  CHECK(request_bytes("jcmd", "Compiler.perfmap") == std::string("1\0jcmd\0Compiler.perfmap\0\0\0", 26));
  CHECK(request_bytes("threaddump", "") == std::string("1\0threaddump\0\0\0\0", 16));
  CHECK(*parse_answer("0\ndone\n") == "done\n");
  CHECK(parse_answer("").error() == "empty answer");
  CHECK(parse_answer("1\njava.lang.IllegalArgumentException: Unknown diagnostic command\n").error() ==
        "it refused: java.lang.IllegalArgumentException: Unknown diagnostic command");
}

TEST_CASE("properties that a JVM reports") {
  CHECK(parse_attach_support(jdk("17.0.15")).version == 17);
  CHECK(parse_attach_support(jdk("1.8.0_292")).version == 8);
  CHECK(parse_attach_support(jdk("22-ea")).version == 22);
  CHECK(parse_attach_support("").version == 0);
  CHECK(parse_attach_support(jdk("17")).accepts_commands);
  CHECK_FALSE(parse_attach_support(jdk("17", "-Xmx1g -XX:+DisableAttachMechanism")).accepts_commands);
  CHECK_FALSE(parse_attach_support(jdk("17")).options_truncated);
  CHECK(parse_attach_support(jdk("17", std::string(1023, 'x'))).options_truncated);
  CHECK(disables_attach(std::string("java\0-XX:+DisableAttachMechanism", 32)));
  CHECK_FALSE(disables_attach("java -XX:-DisableAttachMechanism"));
}

TEST_CASE("the file that a JVM shares is found by its number") {
  const std::string maps =
      "7f00-7f10 r-xp 00000000 fe:01 12 /usr/lib/libjvm.so\n7f10-7f20 rw-s 00000000 fe:01 13 /tmp/hsperfdata_a b/77\n";
  CHECK(shared_path_in(maps, 77) == "/tmp/hsperfdata_a b/77");
  CHECK(shared_path_in(maps, 7).empty());
  CHECK(shared_path_in("7f10-7f20 rw-s 0 0:0 13 /tmp/hsperfdata_a/b/77\n", 77).empty());
  CHECK(shared_path_in("7f10-7f20 rw-s 0 0:0 13 /tmp/hsperfdata_a/77 (deleted)\n", 77).empty());
}

TEST_CASE("a JVM that does not answer is signalled once, and its trigger file stays until then") {
  const Pretender jvm(jdk("17.0.15"));
  const std::string trigger = jvm.trigger("/tmp");
  {
    Attachment attachment;
    CHECK(attachment.run(jvm.target(), "VM.version", kTimeout).error().ends_with("did not open its attach socket"));
    CHECK(attachment.is_waiting());
    CHECK(exists(trigger));
    CHECK(attachment.run(jvm.target(), "VM.version", kTimeout)
              .error()
              .ends_with("was signalled before and has not opened its attach socket"));
    CHECK(jvm.signals() == 1);
  }
  CHECK_FALSE(exists(trigger));
}

namespace {

// Files that a JVM of this number left: no process listens.
class LeftOver {
 public:
  explicit LeftOver(int32_t pid) : path_("/tmp/.java_pid" + std::to_string(pid)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    const core::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::bind(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) == 0);
  }
  LeftOver(const LeftOver &) = delete;
  LeftOver &operator=(const LeftOver &) = delete;
  ~LeftOver() { ::unlink(path_.c_str()); }

 private:
  std::string path_;
};

}  // namespace

TEST_CASE("a JVM in whose place a socket is left over is signalled, unless it listens") {
  const Pretender jvm(jdk("17")), listens(jdk("17"), "/", "Attach Listener");
  const LeftOver one(jvm.target().pid), other(listens.target().pid);
  Attachment attachment, another;
  CHECK(attachment.run(jvm.target(), "VM.version", kTimeout).error().ends_with("did not open its attach socket"));
  CHECK(jvm.signals() == 1);
  CHECK(another.run(listens.target(), "VM.version", kTimeout)
            .error()
            .ends_with("not at the socket in its /tmp; it is not signalled"));
  CHECK(listens.signals() == 0);
}

TEST_CASE("a process has ended when it is gone, or another one") {
  Target target;
  {
    const Pretender jvm(jdk("17"));
    target = jvm.target();
    CHECK_FALSE(has_ended(target));
    ++target.mark.image;
    CHECK(has_ended(target));
    target = jvm.target();
  }
  CHECK(has_ended(target));
}

TEST_CASE("a JVM that would not take the signal as a call is not sent it") {
  const auto refused = [](const Pretender &jvm) {
    Attachment attachment;
    const auto answer = attachment.run(jvm.target(), "VM.version", kTimeout);
    CHECK_FALSE(answer);
    CHECK(jvm.signals() == 0);
    CHECK_FALSE(attachment.is_waiting());
    return answer.error();
  };
  const std::string who = "the JVM ";
  CHECK(
      refused(Pretender(jdk("17", "-XX:+DisableAttachMechanism"))).ends_with("accepts no commands (-XX:+DisableAttachMechanism)"));
  CHECK(refused(Pretender(jdk("11.0.2"))).find("has version 11; version 17 or later is required") != std::string::npos);
  CHECK(refused(Pretender("")).find("does not report whether it accepts commands") != std::string::npos);

  const Pretender called(jdk("17"), "/var/tmp");
  std::ofstream(called.trigger("/var/tmp")) << "";
  CHECK(refused(called).ends_with("is being attached to by another process"));
  ::unlink(called.trigger("/var/tmp").c_str());
  std::ofstream(called.trigger("/tmp")) << "";
  CHECK(refused(called).ends_with("File exists"));
  CHECK(exists(called.trigger("/tmp")));
  ::unlink(called.trigger("/tmp").c_str());
}

TEST_CASE("a process that does not handle SIGQUIT, or is another one by now, is not sent it") {
  const Pretender jvm(jdk("17"));
  Target target = jvm.target();
  target.mark.image += 1;
  Attachment attachment;
  CHECK_FALSE(attachment.run(target, "VM.version", kTimeout));
  ::kill(target.pid, SIGSTOP);
  while (::waitpid(target.pid, nullptr, WUNTRACED) != target.pid) continue;
  CHECK(attachment.run(jvm.target(), "VM.version", kTimeout).error().ends_with("is stopped, has ended, or ignores SIGQUIT (-Xrs)"));
  ::kill(target.pid, SIGCONT);
  CHECK(jvm.signals() == 0);
  CHECK(jvm.is_alive());
}

TEST_CASE("a thread is another user, and others are not") {
  static constexpr uint32_t kNobody = 65534;
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root");
    return;
  }
  std::promise<void> changed;
  auto other = std::async(std::launch::async, [wait = changed.get_future().share()] { return wait.wait(), ::geteuid(); });
  {
    const AsUser user(kNobody, kNobody);
    CHECK(user);
    CHECK(::geteuid() == kNobody);
    CHECK(::getegid() == kNobody);
    CHECK(::access("/root/.", R_OK) == 0);  // by the real ids
    CHECK(::open("/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC) == -1);
    changed.set_value();
    CHECK(other.get() == 0);
  }
  CHECK(::geteuid() == 0);
  CHECK(::getegid() == 0);
  const core::Descriptor folder(::open("/root", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(folder);
}

TEST_CASE("a thread that was root for a while has the capabilities of before, and no more") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root");
    return;
  }
  const pid_t child = ::fork();
  if (child == 0) {
    // Another user with single capabilities, as services have them.
    ::prctl(PR_SET_KEEPCAPS, 1);
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(1);
    const uint32_t few = 1U << CAP_SETUID | 1U << CAP_SETGID | 1U << CAP_SYS_PTRACE;
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    data[0] = {few, few, 0};
    if (::syscall(SYS_capset, &header, data.data()) != 0) ::_exit(2);
    {
      const AsUser root(0, 0);
      if (!root || ::geteuid() != 0) ::_exit(3);
    }
    if (::syscall(SYS_capget, &header, data.data()) != 0) ::_exit(4);
    ::_exit(::geteuid() == 65534 && data[0].effective == few && data[0].permitted == few && data[1].effective == 0 ? 0 : 5);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  CHECK(WEXITSTATUS(status) == 0);
}

namespace {

// As the service does: calls that are not listed fail with EPERM. The filter reads only the number of the
// call.
void forbid(std::initializer_list<long> calls) {
  std::vector<sock_filter> program = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const long call : calls) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(call), 0, 1));
    program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM));
  }
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) ::_exit(10);
}

// 0: it becomes the user and itself again; 1: it is refused, and keeps its user; else an error.
int become(uint32_t user, uint32_t capabilities, std::initializer_list<long> forbidden) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_KEEPCAPS, 1);
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0) ::_exit(11);
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    data[0] = {capabilities, capabilities, 0};
    if (::syscall(SYS_capset, &header, data.data()) != 0) ::_exit(12);
    forbid(forbidden);
    bool is_user = false;
    {
      const AsUser other(user, user);
      is_user = static_cast<bool>(other);
      if (::geteuid() != (is_user ? user : 65534) || ::getegid() != (is_user ? user : 65534)) ::_exit(13);
      if (!is_user && errno != EPERM) ::_exit(14);
      if (::syscall(SYS_capget, &header, data.data()) != 0 || data[0].effective != (is_user ? 0 : capabilities)) ::_exit(15);
    }
    if (::geteuid() != 65534 || ::getegid() != 65534 || ::prctl(PR_GET_KEEPCAPS) != 1) ::_exit(16);
    if (::syscall(SYS_capget, &header, data.data()) != 0 || data[0].effective != capabilities) ::_exit(17);
    ::_exit(is_user ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("under the service's filter a thread becomes another user with the drop-in, and else keeps its user") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root");
    return;
  }
  constexpr uint32_t kNone = 0, kOfDropIn = 1U << CAP_SETUID | 1U << CAP_SETGID;
  for (const uint32_t user : {0U, 1234U}) {
    CAPTURE(user);
    CHECK(become(user, kOfDropIn, {SYS_setfsuid, SYS_setgroups, SYS_setreuid, SYS_setuid}) == 0);
    CHECK(become(user, kOfDropIn, {SYS_capset}) == 1);
    CHECK(become(user, kOfDropIn, {SYS_setresuid, SYS_capset}) == 1);
    CHECK(become(user, kNone, {SYS_setresuid, SYS_capset}) == 1);
    CHECK(become(user, kNone, {}) == 1);
    CHECK(become(user, 1U << CAP_SETGID, {}) == 1);
    CHECK(become(user, 1U << CAP_SETUID, {}) == 1);
  }
}

TEST_CASE("a JVM is not made to write through files that others have placed in its path") {
  const Target own{::getpid(), *symbols::read_mark(::getpid()), *symbols::read_status(::getpid())};
  const std::string map = "/tmp/perf-" + std::to_string(own.status.inner_pid) + ".map", other = map + ".other";
  ::unlink(map.c_str());
  CHECK(reserve_perf_map(own));
  CHECK(reserve_perf_map(own));
  ::unlink(map.c_str());
  std::ofstream(other) << "1 1 x\n";
  REQUIRE(::symlink(other.c_str(), map.c_str()) == 0);
  CHECK_FALSE(reserve_perf_map(own));
  ::unlink(map.c_str());
  REQUIRE(::link(other.c_str(), map.c_str()) == 0);
  CHECK_FALSE(reserve_perf_map(own));
  ::unlink(other.c_str());
  CHECK(reserve_perf_map(own));
  if (::chown(map.c_str(), 1234, 1234) == 0) CHECK_FALSE(reserve_perf_map(own));
  ::unlink(map.c_str());
}

TEST_CASE("the process can be looked into again when the last of its threads is itself again") {
  if (::geteuid() != 0) {
    MESSAGE("skipped: only root");
    return;
  }
  const int before = ::prctl(PR_GET_DUMPABLE);
  auto first = std::make_unique<AsUser>(1234, 1234);
  std::async(std::launch::async, [] { return static_cast<bool>(AsUser(65534, 65534)); }).wait();
  first.reset();
  CHECK(::prctl(PR_GET_DUMPABLE) == before);
  std::promise<void> changed, go;
  auto other = std::async(std::launch::async, [&] {
    const AsUser second(65534, 65534);
    changed.set_value();
    go.get_future().wait();
  });
  first = std::make_unique<AsUser>(1234, 1234);
  changed.get_future().wait();
  first.reset();
  go.set_value();
  other.get();
  CHECK(::prctl(PR_GET_DUMPABLE) == before);
}

}  // namespace atalaya::jvm
