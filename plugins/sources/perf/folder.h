// SPDX-License-Identifier: Apache-2.0
// Folds a stack into one text, root first: "main;f;do_syscall_64_[k]" (format of Brendan
// Gregg's FlameGraph).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/shared/code/symbols/kernel_symbols.h"
#include "plugins/shared/code/symbols/process/process_memory.h"
#include "plugins/sources/perf/sampling/sampler.h"

namespace atalaya::perf {

class Folder {
 public:
  // `modules`: frames of libraries end with their file, "malloc_[libc.so.6]".
  Folder(symbols::ElfFiles &files, bool kernel, bool modules = false) : files_(files), kernel_(kernel), modules_(modules) {}

  // Sets the symbols of kernel frames. Default: none, kernel frames are `[kernel]_[k]`.
  void set_kernel_symbols(const symbols::KernelSymbols *symbols) { kernel_symbols_ = symbols; }

  // Folds a stack. Returns false if the stack does not reach the thread's first function; the text is then marked as incomplete.
  bool fold(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out);
  // Numbers of frames since the last call: all, and those without a symbol name.
  struct Frames {
    uint64_t all = 0, unnamed = 0;
  };
  Frames take_frames();

 private:
  bool append_user(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out);
  std::string_view kernel_name(std::span<const uint64_t> frames, size_t at) const;
  size_t own_frames(std::span<const uint64_t> frames) const;
  void append_kernel(const StackCount &stack, std::string &out);
  void append_place(const symbols::Place &place, std::string &out);

  symbols::ElfFiles &files_;
  bool kernel_, modules_;
  const symbols::KernelSymbols *kernel_symbols_ = nullptr;
  Frames frames_;
};

// Appends a name as a frame: the separator `;` becomes `:`, and control characters become `_`.
void append_frame(std::string_view name, std::string &out);
// Appends a name that comes from a program: also escapes the suffixes and brackets that mark frame classes.
void append_name(std::string_view name, std::string &out);

// Appends the file of a library to its frame: "_[libc.so.6]". Nothing for the program's own code.
void append_module(const symbols::Mapping &mapping, std::string &out);

// Returns true for a function in which threads start.
bool is_root(std::string_view function);

}  // namespace atalaya::perf
