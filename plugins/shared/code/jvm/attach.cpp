// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/jvm/attach.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/code/jvm/as_user.h"
#include "plugins/shared/code/jvm/attach_support.h"
#include "plugins/shared/code/symbols/process/process_root.h"
#include "plugins/shared/host/procfs/process_stat.h"

namespace atalaya::jvm {
namespace {

constexpr int64_t kMilli = 1'000'000;
constexpr int64_t kPollInterval = 20 * kMilli;

std::string label(const Target &target) {
  return "the JVM " + std::to_string(target.pid);
}

core::Error another_users(const Target &target) {
  return {label(target) + " belongs to another user; run as root or grant CAP_SETUID and CAP_SETGID"};
}

std::string name_of(const Target &target, std::string_view name) {
  return std::string(name) + std::to_string(target.status.inner_pid);
}

// Opens the JVM's /tmp.
core::Descriptor folder_of(const Target &target, const symbols::ProcessRoot &root) {
  core::Descriptor folder = root.open("tmp", O_PATH | O_DIRECTORY);
  // Checks that the pid still belonged to this JVM after opening.
  return symbols::read_mark(target.pid) == target.mark ? std::move(folder) : core::Descriptor();
}

// Finds the JVM's attach socket, which is named by its pid in its namespace; invalid: missing.
core::Descriptor find_socket(const Target &target, const core::Descriptor &folder) {
  const std::string name = name_of(target, ".java_pid");
  core::Descriptor socket(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool good = socket && ::fstat(socket.get(), &info) == 0 && S_ISSOCK(info.st_mode) && info.st_uid == target.status.user;
  return good ? std::move(socket) : core::Descriptor();
}

// Finds a socket other than `old`; invalid: none.
core::Descriptor find_another(const Target &target, const core::Descriptor &folder, const core::Descriptor &old) {
  core::Descriptor found = find_socket(target, folder);
  struct stat now {
  }, before{};
  const bool is_same = found && old && ::fstat(found.get(), &now) == 0 && ::fstat(old.get(), &before) == 0 &&
                       now.st_ino == before.st_ino && now.st_dev == before.st_dev;
  return is_same ? core::Descriptor() : std::move(found);
}

// Detects the JVM's listener thread by its name. A JVM with one prints its threads on SIGQUIT if a socket exists, even a stale
// socket.
bool has_listener(const Target &target) {
  const std::string tasks = "/proc/" + std::to_string(target.pid) + "/task";
  const std::unique_ptr<DIR, int (*)(DIR *)> folder(::opendir(tasks.c_str()), ::closedir);
  while (const dirent *entry = folder ? ::readdir(folder.get()) : nullptr) {
    auto name = core::read_file(tasks + "/" + static_cast<const char *>(entry->d_name) + "/comm", 64);
    if (name && *name == "Attach Listener\n") return true;
  }
  return !folder;
}

// Whether another tool has created a trigger file: a JVM checks its working folder first and ignores other trigger files then.
bool has_other_trigger(const Target &target) {
  const std::string path = "/proc/" + std::to_string(target.pid) + "/cwd/" + name_of(target, ".attach_pid");
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 || errno != ENOENT;
}

// Waits for events on the file. Returns false if the deadline has passed.
bool wait_for(int file, short events, int64_t deadline_ns) {
  const int64_t left = deadline_ns - core::monotonic();
  if (left <= 0) return false;
  pollfd wanted{file, events, 0};
  return ::poll(&wanted, 1, static_cast<int>(left / kMilli) + 1) > 0;
}

// Returns true if the JVM handles SIGQUIT, which otherwise would end it, and is not stopped: a stopped JVM would handle it too
// late.
bool handles_signal(const Target &target) {
  static constexpr uint64_t kQuit = uint64_t{1} << (SIGQUIT - 1);
  const auto status = symbols::read_status(target.pid);
  auto stat = core::read_file("/proc/" + std::to_string(target.pid) + "/stat", 4096);
  if (!stat || !status || (status->handled_signals & kQuit) == 0 || symbols::parse_mark(*stat) != target.mark) return false;
  const auto fields = procfs::ProcessStat::parse(*stat, 3);
  return fields && fields->state() != 'T' && fields->state() != 't';
}

core::Status signal_it(const Target &target, const core::Descriptor &process) {
  if (!handles_signal(target)) return core::Error{label(target) + " is stopped, has ended, or ignores SIGQUIT (-Xrs)"};
  const AsUser user(target.status.user, target.status.group);
  if (!user) return another_users(target);
  if (::syscall(SYS_pidfd_send_signal, process.get(), SIGQUIT, nullptr, 0) != 0)
    return core::Error{label(target) + " cannot be signalled: " + core::error_text(errno)};
  return core::Done{};
}

constexpr Call kWriteMap{
    .operation = "jcmd", .argument = "Compiler.perfmap", .min_version = kPerfMapMinVersion, .purpose = "write a perf map"};

core::Status check_version(const Target &target, const Call &call, int version) {
  if (version >= call.min_version) return core::Done{};
  return core::Error{label(target) + " has version " + std::to_string(version) + "; version " + std::to_string(call.min_version) +
                     " or later is required to " + std::string(call.purpose)};
}

// Returns true if only root and the user can remove or rename the user's files in this folder.
bool keeps_files(const core::Descriptor &folder, uint32_t user) {
  struct stat info {};
  if (::fstat(folder.get(), &info) != 0 || (info.st_uid != 0 && info.st_uid != user)) return false;
  return (info.st_mode & S_ISVTX) != 0 || (info.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Checks that the JVM will treat the signal as an attach request.
core::Status check(const Target &target, const Call &call, const symbols::ProcessRoot &root) {
  const auto support = read_attach_support(target.pid, target.status, root);
  if (!support || support->version == 0)
    return core::Error{label(target) + " does not report whether it accepts commands (-XX:-UsePerfData?); run `jcmd " +
                       std::to_string(target.pid) + " VM.version` once to make it listen"};
  if (!support->accepts_commands) return core::Error{label(target) + " accepts no commands (-XX:+DisableAttachMechanism)"};
  return check_version(target, call, support->version);
}

core::Result<core::Descriptor> connect_to(const Target &target, const core::Descriptor &found, int64_t deadline_ns,
                                          bool &is_refused) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = "/proc/self/fd/" + std::to_string(found.get());
  std::memcpy(address.sun_path, path.data(), path.size());
  // The JVM answers only its own user and root.
  const AsUser user(target.status.user, target.status.group);
  if (!user) return another_users(target);
  core::Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return core::Error{"cannot create a socket: " + core::error_text(errno)};
  while (::connect(socket.get(), reinterpret_cast<const sockaddr *>(&address), sizeof(address)) != 0) {
    is_refused = errno == ECONNREFUSED;
    if (errno != EAGAIN || core::monotonic() > deadline_ns)  // EAGAIN: the JVM's backlog is full
      return core::Error{label(target) + " refuses the connection: " + core::error_text(errno)};
    const timespec pause{0, kPollInterval};
    ::nanosleep(&pause, nullptr);
  }
  ucred peer{};
  socklen_t size = sizeof(peer);
  const bool known = ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0;
  if (!known || peer.pid != target.pid) return core::Error{label(target) + ": another process owns its socket"};
  return socket;
}

core::Status exchange(const Target &target, int socket, const Call &call, int64_t deadline_ns, std::string &answer) {
  const core::Error timed_out{label(target) + " does not answer"};
  const std::string request = request_bytes(call.operation, call.argument);
  if (!wait_for(socket, POLLOUT, deadline_ns)) return timed_out;
  if (::send(socket, request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size()))
    return core::Error{label(target) + " accepts no command: " + core::error_text(errno)};
  std::array<char, 16384> buffer{};
  while (answer.size() <= call.max_answer) {
    if (!wait_for(socket, POLLIN, deadline_ns)) return timed_out;
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got == 0) return core::Done{};
    if (got < 0 && errno != EAGAIN && errno != EINTR) return core::Error{label(target) + ": " + core::error_text(errno)};
    answer.append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(got, 0)));
  }
  return core::Error{label(target) + " sent an answer of more than " + std::to_string(call.max_answer) + " bytes"};
}

}  // namespace

bool has_ended(const Target &target) {
  const core::Descriptor stat(::open(("/proc/" + std::to_string(target.pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  if (!stat) return errno == ENOENT || errno == ESRCH;
  std::array<char, 4096> bytes{};
  const ssize_t size = ::read(stat.get(), bytes.data(), bytes.size());
  if (size < 0) return errno == ESRCH;
  const auto mark = symbols::parse_mark({bytes.data(), static_cast<size_t>(size)});
  return mark && *mark != target.mark;
}

bool is_unreachable(const Target &target) {
  return has_ended(target) || !symbols::ProcessRoot(target.pid);
}

core::Result<std::unique_ptr<UserFile>> reserve_perf_map(const Target &target) {
  const std::string name = name_of(target, "perf-") + ".map";
  const symbols::ProcessRoot root(target.pid);
  const core::Descriptor folder = folder_of(target, root);
  if (!folder) return core::Error{label(target) + " has ended, or its /tmp cannot be opened"};
  if (const auto support = read_attach_support(target.pid, target.status, root); support && support->version != 0)
    if (auto good = check_version(target, kWriteMap, support->version); !good) return core::Error{good.error()};
  if (!keeps_files(folder, target.status.user))
    return core::Error{label(target) +
                       " gets no request for a perf map: other users could replace the file in its /tmp; run `chmod +t` " +
                       "on this folder, and let root own it"};
  auto file = std::make_unique<UserFile>(core::Descriptor(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)), name, target);
  if (!file->created() && file->error() != EEXIST)
    return core::Error{label(target) + ": cannot create " + name + " in its /tmp: " + core::error_text(file->error())};
  const core::Descriptor found(::openat(folder.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  const bool own = found && ::fstat(found.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink == 1;
  if (own && info.st_uid == target.status.user) return file;
  return core::Error{label(target) + " cannot write its perf map: its /tmp/" + name +
                     " is not a regular file of the JVM's user; remove it"};
}

// Version, command and three arguments, each terminated by a NUL.
std::string request_bytes(std::string_view operation, std::string_view argument) {
  std::string bytes("1\0", 2);
  bytes += operation;
  bytes += '\0';
  bytes += argument;
  bytes.append(3, '\0');
  return bytes;
}

core::Result<std::string_view> parse_answer(std::string_view bytes) {
  const size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return core::Error{"empty answer"};
  const std::string_view text = bytes.substr(end + 1);
  if (bytes.substr(0, end) == "0") return text;
  return core::Error{"it refused: " + std::string(text.substr(0, std::min<size_t>(text.find('\n'), 200)))};
}

UserFile::UserFile(core::Descriptor folder, std::string name, const Target &target)
    : folder_(std::move(folder)), name_(std::move(name)), user_(target.status.user), group_(target.status.group) {
  static constexpr mode_t kForAll = 0644;
  const AsUser user(user_, group_);
  const core::Descriptor file(
      user ? ::openat(folder_.get(), name_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC | O_NOFOLLOW, kForAll) : -1);
  error_ = file ? 0 : errno;
}

UserFile::~UserFile() {
  if (!created()) return;
  const AsUser user(user_, group_);
  if (user) ::unlinkat(folder_.get(), name_.c_str(), 0);
}

core::Result<core::Descriptor> Attachment::make_jvm_listen(const Target &target, const Call &call, const symbols::ProcessRoot &root,
                                                           const core::Descriptor &folder, const core::Descriptor &old,
                                                           int64_t deadline_ns) {
  if (signalled_) return core::Error{label(target) + " was signalled before and has not opened its attach socket"};
  const core::Descriptor process(static_cast<int>(::syscall(SYS_pidfd_open, target.pid, 0)));
  if (!process) return core::Error{label(target) + " has ended"};
  if (auto good = check(target, call, root); !good) return core::Error{good.error()};
  if (has_other_trigger(target)) return core::Error{label(target) + " is being attached to by another process"};
  if (old && has_listener(target))
    return core::Error{label(target) + " listens, but not at the socket in its /tmp; it is not signalled"};
  if (auto sent = signal(target, process, folder, old); !sent) {
    trigger_.reset();
    return core::Error{sent.error()};
  }
  for (;;) {
    if (core::Descriptor found = find_another(target, folder, old)) return found;
    if (core::monotonic() > deadline_ns) return core::Error{label(target) + " did not open its attach socket"};
    const timespec pause{0, kPollInterval};
    ::nanosleep(&pause, nullptr);
  }
}

// Only the process that created the trigger file signals. Another process may have attached and removed its file since the check: a
// JVM that listens now would print its threads.
core::Status Attachment::signal(const Target &target, const core::Descriptor &process, const core::Descriptor &folder,
                                const core::Descriptor &old) {
  trigger_.emplace(core::Descriptor(::fcntl(folder.get(), F_DUPFD_CLOEXEC, 0)), name_of(target, ".attach_pid"), target);
  if (!trigger_->created())
    return core::Error{label(target) + ": cannot create a file in its /tmp: " + core::error_text(trigger_->error())};
  if (find_another(target, folder, old)) return core::Done{};
  auto sent = signal_it(target, process);
  signalled_ = static_cast<bool>(sent);
  return sent;
}

core::Result<std::string> Attachment::run(const Target &target, std::string_view command, int64_t timeout_ns) {
  std::string bytes;
  Call call = kWriteMap;
  call.argument = command;
  auto text = request(target, call, timeout_ns, bytes);
  if (!text) return core::Error{text.error()};
  return std::string(*text);
}

// A socket that refuses connections is stale: from a killed JVM that had the same pid in its container.
core::Result<core::Descriptor> Attachment::connection(const Target &target, const Call &call, int64_t deadline_ns) {
  const symbols::ProcessRoot root(target.pid);
  const core::Descriptor folder = folder_of(target, root);
  if (!folder) return core::Error{label(target) + " has ended, or its /tmp cannot be opened"};
  core::Descriptor old = find_socket(target, folder);
  bool is_refused = !old;
  if (old) {
    auto socket = connect_to(target, old, deadline_ns, is_refused);
    if (socket || !is_refused) return socket;
  }
  auto found = make_jvm_listen(target, call, root, folder, old, deadline_ns);
  if (!found) return core::Error{found.error()};
  trigger_.reset();
  return connect_to(target, *found, deadline_ns, is_refused);
}

core::Result<std::string_view> Attachment::request(const Target &target, const Call &call, int64_t timeout_ns, std::string &bytes) {
  const int64_t deadline = core::monotonic() + timeout_ns;
  bytes.clear();
  auto socket = connection(target, call, deadline);
  if (!socket) return core::Error{socket.error()};
  trigger_.reset();
  if (auto done = exchange(target, socket->get(), call, deadline, bytes); !done) return core::Error{done.error()};
  auto text = parse_answer(bytes);
  if (!text) return core::Error{label(target) + ": " + text.error()};
  return text;
}

}  // namespace atalaya::jvm
