// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/jvms/frames.h"

#include <algorithm>

#include "plugins/shared/analysis/flamegraph/class.h"
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::jvms {
namespace {

constexpr size_t kSuffix = 4;  // "_[j]"

bool is_made(std::string_view frame) {
  return frame.ends_with("_[j]") || frame.ends_with("_[i]");
}

std::string_view without_suffix(std::string_view frame) {
  return is_made(frame) ? frame.substr(0, frame.size() - kSuffix) : frame;
}

std::string split(std::string_view name, size_t at, size_t gap) {
  return std::string(jvm::plain_type(name.substr(0, at))) + " " + std::string(name.substr(at + gap));
}

std::string dotted(std::string_view name) {
  const size_t dot = name.rfind('.');
  const bool has_both = dot != std::string_view::npos && dot > 0 && dot + 1 < name.size();
  return has_both ? split(name, dot, 1) : std::string(name);
}

// "long W.fib(int)" of JDK 17 and later; "Ljava/lang/String:::hashCode" and "java.lang.String::hashCode" of agents before it.
std::string cpu_function(std::string_view name) {
  name = name.substr(0, name.find('('));
  if (const size_t colons = name.find(":::"); colons != std::string_view::npos) {
    std::string path = split(name, colons, 3);
    std::replace(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(path.find(' ')), '/', '.');
    return path.starts_with('L') && name.find('/') < colons ? path.substr(1) : path;
  }
  name = name.substr(name.rfind(' ') + 1);
  if (const size_t colons = name.find("::"); colons != std::string_view::npos) return split(name, colons, 2);
  return dotted(name);
}

// Returns the function of a frame; "" if the frame is not a function.
std::string java_of(std::string_view frame) {
  if (!is_made(frame)) return {};
  if (frame.starts_with("Interpreter")) return std::string(kInterpreted);
  if (!flamegraph::is_application(flamegraph::class_of(frame, {.jvm = true, .managed = true}))) return {};
  return cpu_function(without_suffix(frame));
}

// `name_of`: the function of a frame, or "".
std::optional<Place> place_of(std::string_view folded, std::string (*name_of)(std::string_view frame)) {
  Place place;
  for (const std::string_view frame : frames_of(folded)) {
    std::string function = name_of(frame);
    if (function.empty()) continue;
    if (place.function.empty()) {
      place.function = std::move(function);
    } else if (function != place.function) {
      place.caller = std::move(function);
      return place;
    }
  }
  if (place.function.empty()) return std::nullopt;
  return place;
}

}  // namespace

std::vector<std::string_view> frames_of(std::string_view folded) {
  std::vector<std::string_view> frames;
  for (size_t end = folded.size(); end != std::string_view::npos;) {
    const size_t semicolon = folded.substr(0, end).rfind(';');
    const size_t begin = semicolon == std::string_view::npos ? 0 : semicolon + 1;
    if (end > begin) frames.push_back(folded.substr(begin, end - begin));
    end = semicolon;
  }
  return frames;
}

std::string function_named(std::string_view name) {
  return name.find(' ') == std::string_view::npos ? dotted(name) : std::string(name);
}

std::string dump_function(std::string_view frame) {
  const bool is_placeholder = frame.starts_with('[');
  return is_placeholder ? std::string(frame) : dotted(without_suffix(frame));
}

std::optional<Place> dump_place(std::string_view folded) {
  return place_of(folded, dump_function);
}

std::optional<Place> cpu_place(std::string_view folded) {
  return place_of(folded, java_of);
}

bool belongs_to_jvm(std::string_view folded) {
  const auto frames = frames_of(folded);
  return std::any_of(frames.begin(), frames.end(), [](std::string_view frame) {
    return flamegraph::is_jvm_own(frame) || (is_made(frame) && frame.starts_with("Interpreter"));
  });
}

std::string trace_line(std::string_view frame) {
  const size_t place = frame.rfind(" (");
  if (place == std::string_view::npos) return function_named(frame);
  return function_named(frame.substr(0, place)) + std::string(frame.substr(place));
}

}  // namespace atalaya::jvms
