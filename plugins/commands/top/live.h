// SPDX-License-Identifier: Apache-2.0
// Windows of the sources of this host: an agent of its own, a child process, prints the samples of a pipeline.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/commands/top/table.h"

namespace atalaya::top {

// Lines of samples to windows. Pure; lines that are no samples of metrics are ignored.
class WindowReader {
 public:
  WindowReader();
  ~WindowReader();
  // The window before, when the line begins a new one.
  std::optional<Window> add(std::string_view line);
  // The current window, as far as it was read; nothing if no line has come since the last call.
  std::optional<Window> take();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  RowBuilder builder_;
  int64_t time_ns_ = 0, length_ns_ = 0;
  bool any_ = false;
};

// The text of the pipeline: processes, with their traffic if `net`.
std::string pipeline_text(std::string_view every, bool net);

class Live {
 public:
  // Throws Failure if the agent does not start.
  explicit Live(std::string every);
  Live(const Live &) = delete;
  Live &operator=(const Live &) = delete;
  ~Live();

  int descriptor() const { return output_.get(); }
  // Reads available output. The newest complete window, if one has come. Throws Failure when the agent has ended.
  std::optional<Window> read();
  // No output for a moment: the current window is complete.
  std::optional<Window> settle() { return reader_.take(); }

 private:
  void start(bool net);
  void end();
  [[noreturn]] void report_end();

  const std::string every_;
  std::string folder_;
  core::Descriptor output_, errors_;
  pid_t child_ = -1;
  bool net_ = true, any_output_ = false;
  std::string rest_;  // of an incomplete line
  WindowReader reader_;
};

}  // namespace atalaya::top
