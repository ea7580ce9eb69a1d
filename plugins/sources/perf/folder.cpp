// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/perf/folder.h"

#include <algorithm>
#include <array>
#include <utility>

namespace atalaya::perf {
namespace {

constexpr std::array<std::string_view, 20> kRoots = {"_start",
                                                     "__libc_start_main",
                                                     "__libc_start_main_impl",
                                                     "__libc_start_call_main",
                                                     "start_thread",
                                                     "clone",
                                                     "__clone",
                                                     "clone3",
                                                     "__clone3",
                                                     "__clone_internal",
                                                     "__GI___clone",
                                                     "__GI___clone3",
                                                     "_dl_start_user",
                                                     "_dl_start",
                                                     "libc_start_main_stage2",
                                                     "_start_c",
                                                     "runtime.goexit",
                                                     "runtime.mstart",
                                                     "runtime.rt0_go",
                                                     "runtime.mcall"};

// Distributions' libraries have symbols only for exported functions; threads start in functions that are not exported.
bool may_start_threads(const symbols::Mapping &mapping) {
  const std::string_view name = mapping.base_name();
  for (const std::string_view library : {"libc.so", "libc-2", "ld-linux", "ld-2", "libpthread", "ld-musl", "libc.musl"})
    if (name.starts_with(library)) return true;
  return false;
}

// For a return address, an address within the call before it: the call may be the last instruction of its function.
uint64_t looked_up(std::span<const uint64_t> frames, size_t at) {
  return at == 0 ? frames[at] : frames[at] - 1;
}

bool reaches_root(const symbols::Place &outermost, size_t frames) {
  // musl's threads start in "start", which is also a common name of other functions.
  if (!outermost.name.empty() && outermost.name != "start") return is_root(outermost.name);
  return frames > 1 && outermost.mapping != nullptr && may_start_threads(*outermost.mapping);
}

// Appends a frame's text, or its first part.
void add_frame(std::string_view text, std::string &out) {
  if (!out.empty()) out += ';';
  out += text;
}

}  // namespace

bool is_root(std::string_view function) {
  // Go 1.17 and later name the calling convention of assembly functions.
  if (constexpr std::string_view kStackCalls = ".abi0"; function.ends_with(kStackCalls)) function.remove_suffix(kStackCalls.size());
  return std::find(kRoots.begin(), kRoots.end(), function) != kRoots.end();
}

void append_frame(std::string_view name, std::string &out) {
  for (const char c : name) {
    const bool printed = static_cast<unsigned char>(c) >= ' ' && c != 0x7f;
    out += c == ';' ? ':' : printed ? c : '_';
  }
}

// Escapes names, which programs choose: no name may look like a frame of another class, or like a placeholder in brackets.
void append_name(std::string_view name, std::string &out) {
  const size_t begin = out.size();
  append_frame(name, out);
  if (out.size() == begin) return;
  if (out[begin] == '[') out[begin] = '(';
  const size_t bracket = out.back() == ']' ? out.rfind('[') : std::string::npos;
  if (bracket == std::string::npos || bracket <= begin || out[bracket - 1] != '_') return;
  out[bracket] = '(';
  out.back() = ')';
}

void append_module(const symbols::Mapping &mapping, std::string &out) {
  constexpr size_t kLongest = 64;
  const std::string_view file = mapping.base_name();
  if (!mapping.is_file() || (file.find(".so") == std::string_view::npos && !file.starts_with("ld-"))) return;
  out += "_[";
  append_frame(file.substr(0, kLongest), out);
  out += ']';
}

Folder::Frames Folder::take_frames() {
  return std::exchange(frames_, {});
}

bool Folder::fold(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out) {
  out.clear();
  const bool whole = !stack.has_user || append_user(stack, memory, out);
  if (kernel_) append_kernel(stack, out);
  return whole;
}

bool Folder::append_user(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out) {
  if (stack.user_lost) {
    add_frame("[stack lost]", out);
    return false;
  }
  const std::span<const uint64_t> frames = stack.user;
  symbols::Place outermost;
  if (memory != nullptr && !frames.empty()) outermost = memory->find(looked_up(frames, frames.size() - 1), files_);
  const bool whole =
      stack.end == End::root || (stack.end == End::unknown && !frames.empty() && reaches_root(outermost, frames.size()));
  if (!whole) add_frame(stack.end == End::truncated ? "[truncated]" : "[unwind failed]", out);
  for (size_t i = frames.size(); i-- > 0;)
    append_place(memory == nullptr ? symbols::Place{} : memory->find(looked_up(frames, i), files_), out);
  return whole;
}

void Folder::append_place(const symbols::Place &place, std::string &out) {
  ++frames_.all;
  add_frame("", out);
  if (!place.name.empty()) {
    append_name(place.name, out);
    if (modules_ && place.mapping != nullptr && place.kind == symbols::CodeKind::native) append_module(*place.mapping, out);
  } else {
    ++frames_.unnamed;
    const bool file = place.mapping != nullptr && place.kind == symbols::CodeKind::native && !place.mapping->path.empty();
    std::string_view name = file ? place.mapping->base_name() : std::string_view("unknown");
    if (name.starts_with('[') && name.ends_with(']')) name = name.substr(1, name.size() - 2);
    out += '[';
    append_frame(name, out);
    out += ']';
  }
  if (place.kind == symbols::CodeKind::runtime) out += "_[j]";
}

std::string_view Folder::kernel_name(std::span<const uint64_t> frames, size_t at) const {
  return kernel_symbols_ == nullptr ? std::string_view() : kernel_symbols_->find(looked_up(frames, at));
}

// Kernel frames of the BPF program itself and of its callers in the tracepoint.
size_t Folder::own_frames(std::span<const uint64_t> frames) const {
  static constexpr size_t kMax = 8;
  for (size_t i = std::min(frames.size(), kMax); i-- > 0;)
    if (const std::string_view name = kernel_name(frames, i); name.starts_with("bpf_trace_run") || name.starts_with("__traceiter_"))
      return i + 1;
  return 0;
}

void Folder::append_kernel(const StackCount &stack, std::string &out) {
  if (stack.kernel_lost) add_frame("[stack lost]_[k]", out);
  const size_t leaf = stack.off_cpu ? own_frames(stack.kernel) : 0;
  for (size_t i = stack.kernel.size(); i-- > leaf;) {
    const std::string_view name = kernel_name(stack.kernel, i);
    ++frames_.all;
    if (name.empty()) ++frames_.unnamed;
    add_frame("", out);
    append_frame(name.empty() ? "[kernel]" : name, out);
    out += "_[k]";
  }
}

}  // namespace atalaya::perf
