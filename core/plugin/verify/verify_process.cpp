// SPDX-License-Identifier: Apache-2.0
// Runs each step of the lifecycle kit in a separate process.
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "core/base/files.h"
#include "core/base/sample/batch.h"
#include "core/base/text/units.h"
#include "core/plugin/active_call.h"
#include "core/plugin/verify/verify.h"

namespace atalaya::core {
namespace {

using Clock = std::chrono::steady_clock;

constexpr char kResult = 1, kNone = 2, kSeparator = 0;  // of the bytes that a child writes; a crash writes a line instead

// Reads the output of the child until it ends; nothing if it exceeds the timeout.
std::optional<std::string> read_until(int fd, Clock::time_point deadline) {
  std::string text;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    pollfd ready{fd, POLLIN, 0};
    const int found = left <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left));
    if (found == 0) return std::nullopt;
    char buffer[4096];
    const ssize_t size = found < 0 ? -1 : ::read(fd, buffer, sizeof(buffer));
    if (size == 0) return text;
    if (size < 0 && errno != EINTR) return text;
    if (size > 0) text.append(buffer, static_cast<size_t>(size));
  }
}

// `text` is the line of the crash report, if there is one.
std::string end_of(std::string text, const std::string &component, int status) {
  while (text.ends_with('\n')) text.pop_back();
  if (text.starts_with(component + ": ")) text.erase(0, component.size() + 2);
  if (!text.empty()) return text;
  if (WIFSIGNALED(status)) return "crashed (SIG" + std::string(::sigabbrev_np(WTERMSIG(status))) + ")";
  return "ended the process with status " + std::to_string(WEXITSTATUS(status));
}

// Makes the finding in a child process. The caller sets its component and step, because the child may crash.
template <class Make>
std::optional<Finding> in_child(Finding finding, std::chrono::milliseconds response_timeout, Make &&make) {
  int ends[2];
  std::fflush(nullptr);
  if (::pipe(ends) != 0) return finding.problem = error_text(errno), finding;
  Descriptor from(ends[0]), to(ends[1]);
  const pid_t child = ::fork();
  if (child < 0) return finding.problem = error_text(errno), finding;
  if (child == 0) {
    report_crashes(to.get(), "");
    const std::optional<Finding> made = make();
    (void)write_all(to.get(), made ? std::string(1, kResult) + made->problem + kSeparator + made->remark : std::string(1, kNone));
    ::_exit(0);
  }
  to.reset();
  const auto text = read_until(from.get(), Clock::now() + response_timeout);
  if (!text) ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!text) {
    finding.problem = "hangs: it did not end within " + format_duration(response_timeout.count() * 1'000'000);
  } else if (*text == std::string(1, kNone)) {
    return std::nullopt;
  } else if (text->starts_with(kResult)) {
    const size_t separator = std::min(text->find(kSeparator), text->size());
    finding.problem = text->substr(1, separator - 1);
    finding.remark = text->substr(std::min(separator + 1, text->size()));
  } else {
    finding.problem = end_of(*text, finding.component, status);
  }
  return finding;
}

std::optional<Finding> step_of(const OpenPlugin &open, const ComponentName &name, std::string_view step) {
  auto plugin = open();
  if (!plugin) return Finding{"", "", plugin.error(), ""};
  for (const atalaya_component *component : (*plugin)->components())
    if (component->kind == name.kind && view_of(component->name) == name.name) return verify_step({*plugin, component}, step);
  return Finding{"", "", "the file no longer offers it", ""};
}

}  // namespace

void verify_in_processes(const OpenPlugin &open, const std::vector<ComponentName> &components,
                         std::chrono::milliseconds response_timeout, const std::function<void(const Finding &)> &report) {
  const auto opened = in_child({"", "open", "", ""}, response_timeout, [&]() -> std::optional<Finding> {
    const auto plugin = open();
    return Finding{"", "", plugin ? "" : plugin.error(), ""};
  });
  report(*opened);
  if (!opened->problem.empty()) return;
  for (const ComponentName &name : components) {
    const std::string label = std::string(kind_name(name.kind)) + " \"" + name.name + "\"";
    for (const std::string_view step : kVerifySteps) {
      const auto finding =
          in_child({label, std::string(step), "", ""}, response_timeout, [&] { return step_of(open, name, step); });
      if (finding) report(*finding);
      if (finding && is_final(*finding)) break;
    }
  }
}

}  // namespace atalaya::core
