// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/top/live.h"

#include <fcntl.h>
#include <poll.h>
#include <simdjson.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atalaya/plugin.hpp>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <utility>
#include <vector>

namespace atalaya::top {
namespace {

constexpr int kEndTimeout = 2000;  // ms
constexpr size_t kMaxLine = size_t{4} << 20;

core::Descriptor open_temporary(const std::string &path, std::string_view text) {
  core::Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    throw Failure(Code::permanent, path + ": " + core::error_text(errno));
  return file;
}

// The environment of the child agent, which has its state and its socket in the folder.
std::vector<std::string> environment_in(const std::string &folder) {
  std::vector<std::string> all;
  for (char **entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (!text.starts_with("STATE_DIRECTORY=") && !text.starts_with("RUNTIME_DIRECTORY=") && !text.starts_with("NOTIFY_SOCKET="))
      all.emplace_back(text);
  }
  all.push_back("STATE_DIRECTORY=" + folder);
  all.push_back("RUNTIME_DIRECTORY=" + folder);
  return all;
}

std::vector<char *> pointers_to(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

struct WindowReader::Parser {
  simdjson::dom::parser parser;
  simdjson::padded_string line;
};

WindowReader::WindowReader() : parser_(std::make_unique<Parser>()) {}
WindowReader::~WindowReader() = default;

std::optional<Window> WindowReader::add(std::string_view line) {
  simdjson::dom::element sample;
  simdjson::dom::object tags;
  simdjson::dom::object fields;
  int64_t time = 0;
  if (parser_->parser.parse(line.data(), line.size()).get(sample) != simdjson::SUCCESS ||
      sample["time"].get(time) != simdjson::SUCCESS || sample["tags"].get(tags) != simdjson::SUCCESS ||
      sample["fields"].get(fields) != simdjson::SUCCESS)
    return std::nullopt;
  std::optional<Window> before;
  if (time > time_ns_ && has_lines_) before = take();
  time_ns_ = std::max(time_ns_, time);
  int64_t length = 0;
  if (sample["duration"].get(length) == simdjson::SUCCESS && length > 0) length_ns_ = length;
  Row identity;
  for (const auto &[key, value] : tags) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) continue;
    if (key == "host") identity.host = text;
    if (key == "pid") identity.pid = text;
    if (key == "process") identity.process = text;
    if (key == "container") identity.container = text;
  }
  for (const auto &[key, value] : fields) {
    double number = 0;
    if (value.get(number) != simdjson::SUCCESS) continue;
    builder_.add(key, number, identity);
    has_lines_ = true;
  }
  return before;
}

std::optional<Window> WindowReader::take() {
  if (!std::exchange(has_lines_, false)) return std::nullopt;
  return Window{time_ns_, length_ns_, builder_.take()};
}

std::string pipeline_text(std::string_view every, bool net) {
  return "local a = require \"atalaya\"\n"
         "a.pipeline \"top\" {\n"
         "  every = \"" +
         std::string(every) +
         "\",\n"
         "  a.source.proc { host = false, cgroups = false },\n" +
         (net ? "  a.source.net { flows = false },\n" : "") +
         "  a.translate.names { tags = { \"container\" } },\n"
         "  a.sink.stdout { format = \"samples\" },\n"
         "}\n";
}

Live::Live(std::string every) : every_(std::move(every)) {
  folder_ = (std::filesystem::temp_directory_path() / "atalaya-top-XXXXXX").string();
  if (::mkdtemp(folder_.data()) == nullptr) throw Failure(Code::permanent, folder_ + ": " + core::error_text(errno));
  start(true);
}

Live::~Live() {
  end();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void Live::start(bool net) {
  net_ = net;
  const std::string file = folder_ + (net ? "/net.lua" : "/top.lua");
  open_temporary(file, pipeline_text(every_, net));
  int output[2];
  int errors[2];
  if (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(errors, O_CLOEXEC) != 0)
    throw Failure(Code::permanent, std::string("no pipe: ") + core::error_text(errno));
  output_ = core::Descriptor(output[0]);
  errors_ = core::Descriptor(errors[0]);
  const core::Descriptor output_end(output[1]);
  const core::Descriptor errors_end(errors[1]);
  for (const int end : {output[0], errors[0]}) ::fcntl(end, F_SETFL, O_NONBLOCK);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, output[1], STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, errors[1], STDERR_FILENO);
  // The agent has a separate process group, so that keys of the terminal do not end it before this command has restored the screen.
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (const int number : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, number);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  std::vector<std::string> words = {"atalaya", "run", file, "--log-level", "error"};
  std::vector<std::string> variables = environment_in(folder_);
  const int error =
      ::posix_spawn(&child_, "/proc/self/exe", &actions, &attributes, pointers_to(words).data(), pointers_to(variables).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) {
    child_ = -1;
    throw Failure(Code::permanent, std::string("the agent does not start: ") + core::error_text(error));
  }
}

void Live::end() {
  if (child_ < 0) return;
  const pid_t child = std::exchange(child_, -1);
  output_ = core::Descriptor();  // closed, so that the agent does not wait for a reader
  ::kill(child, SIGTERM);
  const core::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  pollfd wait{handle.get(), POLLIN, 0};
  if (!handle || ::poll(&wait, 1, kEndTimeout) == 0) ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

// Handles the end of the agent, which has closed its output.
void Live::report_end() {
  std::string text;
  char piece[4096];
  ssize_t size = 0;
  while ((size = ::read(errors_.get(), piece, sizeof(piece))) > 0 && text.size() < sizeof(piece))
    text.append(piece, static_cast<size_t>(size));
  while (text.ends_with('\n')) text.pop_back();
  throw Failure(Code::permanent, "the sources ended" + (text.empty() ? std::string() : ": " + text));
}

std::optional<Window> Live::read() {
  std::optional<Window> newest;
  std::vector<char> piece(size_t{1} << 16);
  for (;;) {
    const ssize_t size = ::read(output_.get(), piece.data(), piece.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return newest;
    if (size <= 0) {
      end();
      // The source of network traffic is unavailable or lacks privileges: starts again with processes only.
      if (net_ && !any_output_) {
        start(false);
        return std::nullopt;
      }
      report_end();
    }
    any_output_ = true;
    rest_.append(piece.data(), static_cast<size_t>(size));
    size_t begin = 0;
    for (size_t stop = 0; (stop = rest_.find('\n', begin)) != std::string::npos; begin = stop + 1)
      if (auto window = reader_.add(std::string_view(rest_).substr(begin, stop - begin))) newest = std::move(window);
    rest_.erase(0, begin);
    if (rest_.size() > kMaxLine) rest_.clear();
  }
}

}  // namespace atalaya::top
