// SPDX-License-Identifier: Apache-2.0
// Command top: the processes of one window, live or from a store.
#include <curses.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>

#include "core/base/now.h"
#include "plugins/commands/top/live.h"
#include "plugins/commands/top/replay.h"
#include "plugins/commands/top/screen.h"
#include "plugins/commands/top/table.h"
#include "plugins/shared/analysis/command_line/output.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::top {
namespace {

using namespace atalaya::literals;

constexpr int kQuiet = 200;  // ms without output after which a live window is complete
constexpr int kEscape = 27;
constexpr const char *kLiveKeys = "q quit  / filter  c m r w i o t sort  n name  arrows scroll  space pause";
constexpr const char *kReplayKeys = "q quit  left right windows  / filter  c m r w i o t sort  n name";

// The sort column that a key selects.
std::optional<Column> column_of_key(int key) {
  switch (key) {
    case 'c':
      return Column::cpu;
    case 'm':
      return Column::memory;
    case 'r':
      return Column::read;
    case 'w':
      return Column::write;
    case 'i':
      return Column::in;
    case 'o':
      return Column::out;
    case 't':
      return Column::threads;
    default:
      return std::nullopt;
  }
}

class Top final : public Command {
 public:
  static constexpr auto params = command_line::joined(
      command_line::listed(
          param::string("at", "Replay the store from this time on (default: the sources of this host, live)").unit("TIME"),
          param::string("every", "Window of the live view").defaults("1s").unit("TIME"), command_line::kTag,
          param::string("filter", "Only processes with this name or pattern; a word is a part of the name").unit("PATTERN"),
          param::choice("sort", "cpu|memory|read|write|in|out|threads|name", "Column that sorts, largest first").defaults("cpu"),
          param::boolean("once", "Print one window as a table, for scripts"),
          param::integer("top", "Maximum processes with --once (default: all)").range(1, 1e6),
          param::choice("format", "table|json", "Output format of --once").defaults("table")),
      command_line::kStoreParams);
  static constexpr Description description = {.name = "top"_str,
                                              .summary = "Show the processes of a window, live or from the store"_str,
                                              .params = params,
                                              .example =
                                                  "atalaya top\n"
                                                  "atalaya top --at -10m\n"
                                                  "atalaya top --once --top 10 --sort memory"_str};

  explicit Top(Host host)
      : options_(command_line::read_options(host)),
        tags_(command_line::read_tags(host)),
        every_(host.text("every")),
        format_(host.text("format")) {
    if (const auto at = host.find("at")) at_ = at->text();
    if (const auto filter = host.find("filter")) view_.filter = filter->text();
    if (const auto once = host.find("once")) once_ = once->boolean();
    if (const auto top = host.find("top")) top_ = static_cast<size_t>(top->integer());
    const std::string_view sort = host.text("sort");
    view_.by_name = sort == "name";
    view_.sort = column_from_name(sort).value_or(Column::cpu);
    auto length = io::parse_length(every_);
    if (!length || *length < 100'000'000)
      throw Failure(Code::bad_config, "--every " + every_ + " is not a duration of at least 100ms, such as 1s");
    if (at_.empty() && !tags_.empty()) throw Failure(Code::bad_config, "--tag selects stored series; add --at, or use --filter");
    if (format_ == "json" && !once_) throw Failure(Code::bad_config, "--format json needs --once");
  }

  int run(std::span<const atalaya_str>) override {
    return command_line::with_failures([&] {
      check_filter();
      if (!at_.empty()) return replay();
      return live();
    });
  }

  void interrupt() noexcept { stopping_ = true; }

 private:
  void check_filter() const {
    try {
      shown_rows({}, view_);
    } catch (const std::invalid_argument &problem) {
      throw Failure(Code::bad_config, "--filter " + view_.filter + ": " + problem.what());
    }
  }

  int print(const Window &window) {
    view_.height = top_;
    view_.width = terminal_width();
    if (format_ == "json") {
      Window limited = window;
      limited.rows = shown_rows(window, view_);
      if (top_ > 0 && limited.rows.size() > top_) limited.rows.resize(top_);
      command_line::write_output("", json_of(limited, view_));
      return 0;
    }
    const Lines lines = lines_of(window, view_);
    std::string text = lines.title + "\n" + lines.heading + "\n";
    for (const std::string &line : lines.rows) text += line + "\n";
    command_line::write_output("", text);
    return 0;
  }

  // Output to a file or a pipe has no maximum width.
  static size_t terminal_width() {
    winsize size{};
    return ::isatty(STDOUT_FILENO) == 1 && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 132;
  }

  int replay() {
    Replay source(options_, tags_);
    auto time = io::parse_time(at_, source.now_ns());
    if (!time) throw query::Wrong("--at " + at_ + ": " + time.error());
    Window window = source.at(*time);
    if (once_ || ::isatty(STDOUT_FILENO) == 0) return print(window);
    Screen screen;
    while (!stopping_) {
      draw(screen, window, kReplayKeys);
      const int key = screen.key(500);
      if (key == KEY_LEFT || key == KEY_RIGHT)
        window = source.step(window, key == KEY_RIGHT);
      else if (!handle(key, screen))
        break;
    }
    return 0;
  }

  int live() {
    Live source(every_);
    if (once_ || ::isatty(STDOUT_FILENO) == 0) return print(first_with_rates(source));
    Screen screen;
    Window window;
    window.time_ns = core::realtime();
    bool paused = false;
    while (!stopping_) {
      if (auto newest = next(source, 0); newest && !paused) window = std::move(*newest);
      draw(screen, window, paused ? "paused: space continues" : window.rows.empty() ? "waiting for the first window" : kLiveKeys);
      const int key = screen.key(100);
      if (key == ' ')
        paused = !paused;
      else if (!handle(key, screen))
        break;
    }
    return 0;
  }

  // Waits for the first window with a length: rates need two readings.
  Window first_with_rates(Live &source) {
    while (!stopping_)
      if (auto window = next(source, -1); window && window->length_ns > 0) return std::move(*window);
    return {};
  }

  // Waits for the newest window, maximum `wait_ms`; -1: without a maximum.
  std::optional<Window> next(Live &source, int wait_ms) {
    while (!stopping_) {
      pollfd wait{source.descriptor(), POLLIN, 0};
      const int ready = ::poll(&wait, 1, wait_ms < 0 ? kQuiet : wait_ms);
      if (auto window = ready > 0 ? source.read() : ready == 0 ? quiet(source) : std::nullopt) return window;
      if (wait_ms >= 0) return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Window> quiet(Live &source) {
    const int64_t now = core::monotonic();
    if (now < read_at_ + int64_t{kQuiet} * 1'000'000) return std::nullopt;
    read_at_ = now;
    return source.complete_window();
  }

  void draw(Screen &screen, const Window &window, std::string_view keys) {
    view_.width = screen.width();
    view_.height = screen.rows();
    view_.first = std::min(view_.first, window.rows.empty() ? 0 : window.rows.size() - 1);
    try {
      screen.draw(lines_of(window, view_), editing_ ? "filter: " + typed_ : std::string(keys));
    } catch (const std::invalid_argument &problem) {
      View all = view_;
      all.filter.clear();
      screen.draw(lines_of(window, all), "filter: " + typed_ + ": " + problem.what());
    }
  }

  // Handles a key; false: quit.
  bool handle(int key, const Screen &screen) {
    if (editing_) return edit(key);
    if (key == 'q' || key == 3) return false;
    if (key == '/') {
      editing_ = true;
      typed_ = view_.filter;
    }
    if (const auto column = column_of_key(key)) {
      view_.sort = *column;
      view_.by_name = false;
    }
    if (key == 'n') view_.by_name = true;
    if (key == KEY_DOWN) ++view_.first;
    if (key == KEY_UP && view_.first > 0) --view_.first;
    if (key == KEY_NPAGE) view_.first += screen.rows();
    if (key == KEY_PPAGE) view_.first -= std::min(view_.first, screen.rows());
    if (key == KEY_HOME) view_.first = 0;
    return true;
  }

  bool edit(int key) {
    if (key == '\n' || key == '\r' || key == KEY_ENTER || key == kEscape) {
      if (key == kEscape) typed_.clear();
      editing_ = false;
    } else if (key == KEY_BACKSPACE || key == 127 || key == 8) {
      while (!typed_.empty() && (static_cast<unsigned char>(typed_.back()) & 0xc0) == 0x80) typed_.pop_back();
      if (!typed_.empty()) typed_.pop_back();
    } else if (key >= ' ' && key < 256 && typed_.size() < 128) {
      typed_ += static_cast<char>(key);
    }
    view_.filter = typed_;
    view_.first = 0;
    return true;
  }

  const command_line::ReadOptions options_;
  const std::vector<store::TagFilter> tags_;
  const std::string every_, format_;
  std::string at_;
  bool once_ = false, editing_ = false;
  size_t top_ = 0;
  std::string typed_;
  View view_;
  int64_t read_at_ = 0;
  std::atomic<bool> stopping_ = false;
};

}  // namespace
}  // namespace atalaya::top

ATALAYA_PLUGIN("top", "0.1.0", "command top", atalaya::top::Top)
