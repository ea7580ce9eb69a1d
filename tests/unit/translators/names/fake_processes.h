// SPDX-License-Identifier: Apache-2.0
// A folder like the root of a host with processes in it.
#pragma once

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/unit/protocols/hsperfdata/hsperfdata_maker.h"
#include "tests/unit/temporary_folder.h"

namespace atalaya::testing {

class FakeProcesses {
 public:
  struct Process {
    int pid = 0;
    std::string name;
    std::vector<std::string> words;
    std::string executable = {};
    int image = 1;  // changes with exec
    int start_ticks = 100;
    int inner_pid = 0;  // in its container; 0: the same
    std::string cgroup = "0::/\n";
    std::string environment = {};
    std::string working_directory = "/";
    int parent = 1;
  };

  FakeProcesses() { std::filesystem::create_directory(root_ / "proc"); }

  const std::string &root() const { return root_.path(); }
  std::string folder(int pid) const { return root_ / ("proc/" + std::to_string(pid)); }

  void put(const Process &process) const {
    const std::string folder = this->folder(process.pid);
    std::filesystem::create_directories(folder + "/root/tmp");
    std::string command_line;
    for (const std::string &word : process.words) command_line += word + '\0';
    write(folder + "/cmdline", command_line);
    write(folder + "/cgroup", process.cgroup);
    write(folder + "/environ", process.environment);
    const std::string user = std::to_string(::geteuid());
    const int inner = process.inner_pid == 0 ? process.pid : process.inner_pid;
    write(folder + "/status", "Name:\tx\nUid:\t0\t" + user + "\t0\t0\nNSpid:\t" + std::to_string(process.pid) + "\t" +
                                  std::to_string(inner) + "\nThreads:\t1\n");
    std::string stat = std::to_string(process.pid) + " (" + process.name + ") S";
    for (int field = 4; field <= 52; ++field)
      stat += " " + std::to_string(field == 4    ? process.parent
                                   : field == 22 ? process.start_ticks
                                   : field == 28 ? 1000 + process.image
                                                 : field);
    write(folder + "/stat", stat + "\n");
    std::filesystem::remove(folder + "/cwd");
    std::filesystem::create_symlink(process.working_directory, folder + "/cwd");
    std::filesystem::remove(folder + "/exe");
    std::filesystem::create_symlink(process.executable.empty() ? "/usr/bin/" + process.name : process.executable, folder + "/exe");
  }
  // The JVM's own word; `inner_pid` as it knows itself.
  void say(int pid, int inner_pid, const std::string &java_command) const {
    std::filesystem::create_directories(folder(pid) + "/root/tmp/hsperfdata_someone");
    const std::string file = "/hsperfdata_someone/" + std::to_string(inner_pid);
    write(folder(pid) + "/root/tmp" + file, shared_file_saying(java_command));
    write(folder(pid) + "/maps", std::string(300'000, 'm') + "\n7f0-7f8 rw-s 0 fe:0 7 /tmp" + file + "\n7f9-7fa r--p 0 0 0\n");
  }
  static void write(const std::string &path, const std::string &text) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }

 private:
  TemporaryFolder root_;
};

}  // namespace atalaya::testing
