// SPDX-License-Identifier: Apache-2.0
// A stack as one text, root first: "main;f;do_syscall_64_[k]". Whose it is say tags.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "plugins/sources/perf/sampler.h"
#include "plugins/shared/symbols/kernel_symbols.h"
#include "plugins/shared/symbols/process_memory.h"

namespace atalaya::perf {

class Folder {
 public:
  Folder(symbols::ElfFiles &files, bool kernel) : files_(files), kernel_(kernel) {}

  // For kernel frames; without it they are `[kernel]_[k]`.
  void use(const symbols::KernelSymbols *symbols) { kernel_symbols_ = symbols; }

  // False: the stack does not reach the function that its thread began with, and says so.
  bool fold(const StackCount &stack, const symbols::ProcessMemory *memory, std::string &out);
  // Frames since the last call, and how many of them have no name.
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
  bool kernel_;
  const symbols::KernelSymbols *kernel_symbols_ = nullptr;
  Frames frames_;
};

// Appends a name as a frame: `;` is what separates frames and becomes `:`, and what is not to be printed `_`.
void append_frame(std::string_view name, std::string &out);
// The same of a name that a program gave, which passes for no frame of another class.
void append_name(std::string_view name, std::string &out);

// Whether threads begin in it.
bool is_root(std::string_view function);

}  // namespace atalaya::perf
