// SPDX-License-Identifier: Apache-2.0
// The parameters of the host and cgroup samples.
#pragma once

#include <atalaya/plugin.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "plugins/sources/proc/host/host_model.h"

namespace atalaya::proc {

struct HostOptions {
  std::string root = "/";
  Formulas formulas = Formulas::atalaya;
  bool partitions = false, loop_disks = false, ram_disks = false, loopback = true;
  std::vector<std::string> file_systems;  // types
};

struct CgroupOptions {
  std::string root = "/";
  int64_t max_cgroups = 1000, depth = 8;
};

inline constexpr Param kFileSystemType = {
    .name = ""_str, .type = ATALAYA_STRING, .summary = "A type of file system as /proc/filesystems names it."_str};

// Beside `root`, which the source declares for all its parts.
inline constexpr std::array kHostParams = {
    Param{
        .name = "usage"_str,
        .type = ATALAYA_ENUM,
        .default_text = "atalaya"_str,
        .allowed = "atalaya|reference"_str,
        .summary = "Formulas of sys.cpu.usage and sys.mem.usage; reference counts iowait as busy and the page cache as used."_str},
    Param{.name = "partitions"_str,
          .type = ATALAYA_BOOL,
          .default_text = "false"_str,
          .summary = "Samples of partitions beside those of whole disks."_str},
    Param{.name = "loop_disks"_str, .type = ATALAYA_BOOL, .default_text = "false"_str, .summary = "Samples of loop devices."_str},
    Param{.name = "ram_disks"_str,
          .type = ATALAYA_BOOL,
          .default_text = "false"_str,
          .summary = "Samples of ram and zram disks."_str},
    Param{.name = "loopback"_str, .type = ATALAYA_BOOL, .default_text = "true"_str, .summary = "Samples of the interface lo."_str},
    Param{.name = "file_systems"_str,
          .type = ATALAYA_LIST,
          .default_text = "ext2,ext3,ext4,xfs,btrfs,f2fs,zfs,bcachefs,jfs,reiserfs,nilfs2,vfat,exfat,ntfs,ntfs3,fuseblk"_str,
          .summary = "Types of file systems that get samples; while one of them does not answer, none has any."_str,
          .items = &kFileSystemType,
          .item_count = 1,
          .item_size = sizeof(Param)},
};

inline constexpr std::array kCgroupParams = {
    Param{.name = "max_cgroups"_str,
          .type = ATALAYA_INT,
          .flags = ATALAYA_BOUNDED,
          .default_text = "1000"_str,
          .summary = "At most so many cgroups get samples, in the order they are found."_str,
          .min = 1,
          .max = 100000},
    Param{.name = "cgroup_depth"_str,
          .type = ATALAYA_INT,
          .flags = ATALAYA_BOUNDED,
          .default_text = "8"_str,
          .summary = "Cgroups nested deeper than this are counted in their parents only."_str,
          .min = 0,
          .max = 64},
};

inline HostOptions host_options(const Host &host) {
  HostOptions options;
  options.root = host.text("root");
  options.formulas = host.text("usage") == "reference" ? Formulas::reference : Formulas::atalaya;
  options.partitions = host.boolean("partitions");
  options.loop_disks = host.boolean("loop_disks");
  options.ram_disks = host.boolean("ram_disks");
  options.loopback = host.boolean("loopback");
  options.file_systems = host.texts("file_systems");
  return options;
}

inline CgroupOptions cgroup_options(const Host &host) {
  return {host.text("root"), host.integer("max_cgroups"), host.integer("cgroup_depth")};
}

}  // namespace atalaya::proc
