// SPDX-License-Identifier: Apache-2.0
// The lines of a thread; those that begin with "- " concern locks:
//   "name" #1 daemon prio=5 os_prio=0 cpu=46.00ms elapsed=1.28s tid=0x00007f nid=0x6de2 waiting on condition  [0x00007f]
//      java.lang.Thread.State: TIMED_WAITING (sleeping)
//   <tab>at java.lang.Thread.sleep(java.base@17.0.15/Native Method)
//   <tab>- locked <0x000000> (a java.lang.Object)
// From JDK 21, a thread that carries a virtual thread has no nid and no state, and the stack of the virtual thread after its own:
//   "ForkJoinPool-1-worker-1" #24 [28130] daemon prio=5 os_prio=0 cpu=46.00ms elapsed=1.28s tid=0x00007f  [0x00007f]
//      Carrying virtual thread #22
//   <tab>at jdk.internal.vm.Continuation.run(java.base@21/Continuation.java:248)
//      Mounted virtual thread #22
//   <tab>at T.work(T.java:1)
#include "plugins/shared/code/jvm/thread_dump.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::jvm {
namespace {

constexpr std::string_view kNative = "Native Method)", kState = "   java.lang.Thread.State: ", kFrame = "\tat ",
                           kCarrying = "   Carrying virtual thread ", kMounted = "   Mounted virtual thread ";

// The word after `label`; empty: missing.
std::string_view word_after(std::string_view line, std::string_view label) {
  const size_t at = line.rfind(label);
  if (at == std::string_view::npos) return {};
  line.remove_prefix(at + label.size());
  return line.substr(0, line.find_first_of(" \t"));
}

// Parses "46.00ms"; in some locales "46,00ms".
std::optional<int64_t> milliseconds(std::string_view text) {
  std::array<char, 32> word_of{};
  if (text.size() > word_of.size()) return std::nullopt;
  std::replace_copy(text.begin(), text.end(), word_of.begin(), ',', '.');
  const std::string_view word(word_of.data(), text.size());
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number, std::chars_format::fixed);
  const std::string_view unit = word.substr(static_cast<size_t>(end - word.data()));
  if (error != std::errc() || unit != "ms" || !(number >= 0 && number < 1e12)) return std::nullopt;
  return std::llround(number * 1e6);
}

// Parses "0x6de2"; newer JVMs write the nid in decimal.
uint64_t number(std::string_view word) {
  const int base = word.starts_with("0x") ? 16 : 10;
  if (base == 16) word.remove_prefix(2);
  uint64_t value = 0;
  std::from_chars(word.data(), word.data() + word.size(), value, base);
  return value;
}

State state_of(std::string_view word) {
  static constexpr std::array<std::pair<std::string_view, State>, 4> kStates = {{{"RUNNABLE", State::runnable},
                                                                                 {"BLOCKED", State::blocked},
                                                                                 {"WAITING", State::waiting},
                                                                                 {"TIMED_WAITING", State::sleeping}}};
  word = word.substr(0, word.find(' '));
  for (const auto &[name, state] : kStates)
    if (word == name) return state;
  return State::none;
}

// Java numbers its threads and never reuses a number. The JVM's own threads, and those of JDK 7, have none.
uint64_t id_in(std::string_view header) {
  static constexpr std::string_view kJava = "\" #";
  static constexpr uint64_t kFactor = 0x9e3779b97f4a7c15;
  if (header.starts_with(kJava)) return number(word_after(header, kJava));
  return number(word_after(header, " tid=")) * kFactor + number(word_after(header, " nid="));
}

// Parses "nid=0x6de2" or, for a thread that carries a virtual thread, "[28130]" before its daemon flag.
int32_t system_number_in(std::string_view header) {
  std::string_view word = word_after(header, " nid=");
  if (const size_t at = header.find(" ["); word.empty() && at < header.find(" tid=")) word = header.substr(at + 2);
  const uint64_t value = number(word);
  return value <= INT32_MAX ? static_cast<int32_t>(value) : 0;
}

// A name may contain anything, even quotes and line ends.
void begin(std::string_view line, DumpedThread &thread) {
  const size_t end = line.rfind("\" ");
  thread.name = line.substr(1, std::max<size_t>(end, 1) - 1);
  line.remove_prefix(end);
  thread.id = id_in(line);
  thread.number = system_number_in(line);
  thread.cpu_ns = milliseconds(word_after(line, " cpu="));
  thread.state = State::none;
  thread.frames.clear();
}

// Parses "System.java:12" or "System.java".
void take_place(std::string_view place, Frame &frame) {
  if (place == "Unknown Source" || place == "Redefined") return;
  const size_t colon = place.rfind(':');
  frame.file = place.substr(0, colon);
  if (colon == std::string_view::npos) return;
  if (const auto line = core::number_from<int>(place.substr(colon + 1)); line && *line >= 0) frame.line = *line;
}

}  // namespace

std::string_view ThreadDump::next_line() {
  return core::cut_at(rest_, '\n');
}

void ThreadDump::take(std::string_view line, DumpedThread &thread) {
  if (line.starts_with(kFrame) && thread.frames.size() < kMaxFrames)
    thread.frames.push_back(line.substr(kFrame.size()));
  else if (line.starts_with(kState))
    thread.state = state_of(line.substr(kState.size()));
  else if (line.starts_with(kCarrying))
    thread.state = State::runnable;
  else if (line.starts_with(kMounted))
    thread.frames.clear();
}

// A name with a line end continues on the next line: a thread's header ends with the line that has its id. Empty: none.
std::string_view ThreadDump::next_header() {
  const std::string_view begin = rest_;
  while (!rest_.empty()) {
    const std::string_view line = next_line();
    const size_t quote = line.rfind("\" ");
    if (quote != std::string_view::npos && line.find(" tid=", quote) != std::string_view::npos)
      return begin.substr(0, static_cast<size_t>(line.data() + line.size() - begin.data()));
  }
  return {};
}

bool ThreadDump::next(DumpedThread &thread) {
  while (!rest_.empty() && rest_.front() != '"') next_line();
  const std::string_view header = next_header();
  if (header.empty()) return false;
  begin(header, thread);
  while (!rest_.empty() && rest_.front() != '"' && rest_.front() != '\n') take(next_line(), thread);
  return true;
}

bool is_complete(std::string_view dump) {
  return dump.rfind("\nJNI global ref") != std::string_view::npos;
}

bool is_native(std::string_view frame) {
  return frame.ends_with(kNative);
}

std::optional<Frame> parse_frame(std::string_view text) {
  const size_t open = text.rfind('(');
  if (open == std::string_view::npos || !text.ends_with(')')) return std::nullopt;
  const std::string_view name = text.substr(0, open);
  std::string_view place = text.substr(open + 1, text.size() - open - 2);
  place.remove_prefix(std::min(place.rfind('/') + 1, place.size()));  // the module; npos + 1 is 0
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) return std::nullopt;
  Frame frame{.type = plain_type(name.substr(0, dot)), .method = name.substr(dot + 1), .file = {}};
  if (is_native(text))
    frame.line = -2;
  else
    take_place(place, frame);
  return frame;
}

}  // namespace atalaya::jvm
