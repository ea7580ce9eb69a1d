// SPDX-License-Identifier: Apache-2.0
// Reads live windows of this host: a child process runs an agent with a pipeline that prints its samples.
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

// Combines lines of samples to windows; ignores lines that are not samples of metrics. It does no I/O.
class WindowReader {
 public:
  WindowReader();
  ~WindowReader();
  // Adds a line. Returns the previous window if the line starts a new one.
  std::optional<Window> add(std::string_view line);
  // Returns the lines of the current window so far; nothing if there was no line since the last call.
  std::optional<Window> take();

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  RowBuilder builder_;
  int64_t time_ns_ = 0, length_ns_ = 0;
  bool has_lines_ = false;
};

// The text of the pipeline that collects processes, with their network traffic if `net`.
std::string pipeline_text(std::string_view every, bool net);

class Live {
 public:
  // Throws Failure if the agent does not start.
  explicit Live(std::string every);
  Live(const Live &) = delete;
  Live &operator=(const Live &) = delete;
  ~Live();

  int descriptor() const { return output_.get(); }
  // Reads the available output. Returns the newest complete window, if there is one. Throws Failure if the agent has ended.
  std::optional<Window> read();
  // Returns the current window. Call it when the agent has printed nothing for a short time: then the window is complete.
  std::optional<Window> complete_window() { return reader_.take(); }

 private:
  void start(bool net);
  void end();
  [[noreturn]] void report_end();

  const std::string every_;
  std::string folder_;
  core::Descriptor output_, errors_;
  pid_t child_ = -1;
  bool net_ = true, any_output_ = false;
  std::string rest_;  // start of an incomplete line
  WindowReader reader_;
};

}  // namespace atalaya::top
