// SPDX-License-Identifier: Apache-2.0
// Folds a stack into one text, root first: "main;f;do_syscall_64_[k]". Tags identify its process.
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

  // Symbols of kernel frames (default: none; frames are `[kernel]_[k]`).
  void use(const symbols::KernelSymbols *symbols) { kernel_symbols_ = symbols; }

  // False: the stack does not reach the thread's first function; the text is marked as incomplete.
  bool fold(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out);
  // Frames since the last call: all, and those without a name.
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
// The same for a name from a program: escapes suffixes and brackets that mark other classes of frames.
void append_name(std::string_view name, std::string &out);

// Appends the file of a library to its frame: "_[libc.so.6]". Nothing for the program's own code.
void append_module(const symbols::Mapping &mapping, std::string &out);

// Whether threads start in this function.
bool is_root(std::string_view function);

}  // namespace atalaya::perf
