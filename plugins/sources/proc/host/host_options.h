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
  std::vector<std::string> file_systems;  // types of file systems to sample
};

struct CgroupOptions {
  std::string root = "/";
  int64_t max_cgroups = 1000, depth = 8;
};

inline constexpr Param kFileSystemType[] = {param::string("", "A file system type as in /proc/filesystems")};

// The parameters of the host samples. The source declares `root`, which is common to all its samples.
inline constexpr auto kHostParams = std::to_array<Param>({
    param::choice("usage", "atalaya|reference",
                  "Formulas of sys.cpu.usage and sys.mem.usage; reference counts iowait and page cache as used")
        .defaults("atalaya"),
    param::boolean("partitions", "Also emit a sample per partition, and per path to an NVMe disk").defaults("false"),
    param::boolean("loop_disks", "Also emit a sample per loop device").defaults("false"),
    param::boolean("ram_disks", "Also emit a sample per ram and zram disk").defaults("false"),
    param::boolean("loopback", "Also emit a sample of the interface lo").defaults("true"),
    param::list("file_systems", kFileSystemType, "File system types to sample; one that does not respond has no samples")
        .defaults("ext2,ext3,ext4,xfs,btrfs,f2fs,zfs,bcachefs,jfs,reiserfs,nilfs2,vfat,exfat,ntfs,ntfs3,fuseblk"),
});

inline constexpr auto kCgroupParams = std::to_array<Param>({
    param::integer("max_cgroups", "Maximum number of cgroups sampled, in the order they are found")
        .defaults("1000")
        .range(1, 100000),
    param::integer("cgroup_depth", "Maximum depth; deeper cgroups count in their parents only").defaults("8").range(0, 64),
});

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
