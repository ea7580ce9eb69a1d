// SPDX-License-Identifier: Apache-2.0
#include "core/plugin/describe/elf_note.h"

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "core/plugin/names.h"

namespace atalaya::core {
namespace {

constexpr uint64_t kMaxNotes = uint64_t{1} << 20;  // larger segments of notes are not those of a plugin
constexpr char kOwner[8] = "atalaya";

const Error kTruncated{"truncated or damaged ELF file; build or copy it again"};
const Error kNoNote{"no plugin note; a plugin says ATALAYA_NOTE (atalaya/plugin.h) or ATALAYA_PLUGIN (atalaya/plugin.hpp) once"};

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the plugin ABI is defined for x86-64 and arm64"
#endif

// The part after the standard note header and the owner.
struct Versions {
  uint16_t abi_major, abi_minor;
  uint32_t sample_layout;
};
static_assert(sizeof(atalaya_note_header) == sizeof(Elf64_Nhdr) + sizeof(kOwner) + sizeof(Versions));

bool is_shared_object(const Elf64_Ehdr &header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_type == ET_DYN && header.e_machine == kMachine &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

Error malformed(std::string_view what) {
  return Error{"its plugin note " + std::string(what) +
               "; wanted \"NAME VERSION\", then a line \"KIND NAME\" a component: rebuild the plugin"};
}

Result<PluginNote> parse_text(std::string_view text, PluginNote note) {
  text = text.substr(0, text.find('\0'));
  std::string_view version = cut_at(text, '\n');
  note.name = cut_at(version, ' ');
  note.version = version;
  if (!is_plugin_name(note.name) || !is_version(note.version)) return malformed("has no name and version");
  while (!text.empty()) {
    std::string_view name = cut_at(text, '\n');
    const uint32_t kind = kind_from_name(cut_at(name, ' '));
    if (kind == 0 || !is_component_name(name)) return malformed("names an unknown kind or a bad component name");
    if (note.components.size() == kMaxComponents) return malformed("names more than 256 components");
    note.components.push_back({kind, std::string(name)});
  }
  if (note.components.empty()) return malformed("names no component");
  return note;
}

Result<PluginNote> parse_descriptor(std::string_view bytes) {
  Versions versions{};
  if (bytes.size() < sizeof(versions)) return malformed("is too short");
  std::memcpy(&versions, bytes.data(), sizeof(versions));
  PluginNote note;
  note.abi_major = versions.abi_major;
  note.abi_minor = versions.abi_minor;
  note.sample_layout = versions.sample_layout;
  return parse_text(bytes.substr(sizeof(versions)), std::move(note));
}

// Removes `size` bytes and their padding from the start; false if there are fewer.
bool take(std::string_view &bytes, uint64_t size, uint64_t alignment, std::string_view &taken) {
  if (size > bytes.size()) return false;
  taken = bytes.substr(0, size);
  const uint64_t padded = (size + alignment - 1) / alignment * alignment;
  bytes.remove_prefix(padded < bytes.size() ? padded : bytes.size());
  return true;
}

// Finds the descriptor of Atalaya's note in a segment of notes; false if it is missing.
bool find_note(std::string_view notes, uint64_t alignment, std::string_view &descriptor) {
  std::string_view bytes, owner;
  while (take(notes, sizeof(Elf64_Nhdr), 1, bytes)) {
    Elf64_Nhdr header{};
    std::memcpy(&header, bytes.data(), sizeof(header));
    if (!take(notes, header.n_namesz, alignment, owner) || !take(notes, header.n_descsz, alignment, descriptor)) return false;
    if (header.n_type == ATALAYA_NOTE_TYPE && owner == std::string_view(kOwner, sizeof(kOwner))) return true;
  }
  return false;
}

// A segment beyond the end of the file would end the dynamic loader with SIGBUS.
bool reaches(const ReadAt &read_at, const Elf64_Phdr &segment) {
  char last = 0;
  uint64_t end = 0;
  if (segment.p_filesz == 0) return true;
  return !__builtin_add_overflow(segment.p_offset, segment.p_filesz, &end) && read_at(end - 1, &last, 1);
}

}  // namespace

Result<PluginNote> parse_plugin_note(const ReadAt &read_at) {
  Elf64_Ehdr header{};
  if (!read_at(0, &header, sizeof(header)) || !is_shared_object(header))
    return Error{"not an ELF shared object for this machine; build the plugin as a shared object here"};
  std::string notes;
  std::string_view descriptor;
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    uint64_t at = 0;
    if (__builtin_add_overflow(header.e_phoff, i * sizeof(segment), &at) || !read_at(at, &segment, sizeof(segment)))
      return kTruncated;
    if (segment.p_type == PT_LOAD && !reaches(read_at, segment)) return kTruncated;
    if (segment.p_type != PT_NOTE || segment.p_filesz > kMaxNotes || !descriptor.empty()) continue;
    notes.resize(segment.p_filesz);
    if (!read_at(segment.p_offset, notes.data(), notes.size())) return kTruncated;
    if (!find_note(notes, segment.p_align == 8 ? 8 : 4, descriptor)) descriptor = {};
  }
  if (descriptor.empty()) return kNoNote;
  return parse_descriptor(descriptor);
}

Result<PluginNote> read_plugin_note(const std::string &path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return Error{path + ": " + error_text(errno)};
  auto note = parse_plugin_note([&file](uint64_t offset, void *to, size_t size) {
    if (offset > static_cast<uint64_t>(INT64_MAX)) return false;
    return ::pread(file.get(), to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
  });
  if (!note) return Error{path + ": " + note.error()};
  return note;
}

}  // namespace atalaya::core
