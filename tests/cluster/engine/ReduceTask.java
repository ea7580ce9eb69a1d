// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** Adds up the counts of one partition of all maps, in the five steps of a reduce task of Hadoop. */
final class ReduceTask {
  private final Path folder;
  private final Disk disk;
  private final Phases phases;
  private final String name;
  private final List<byte[]> runs = new ArrayList<>();
  private final List<byte[]> merged = new ArrayList<>();
  private final TreeMap<String, Long> counts = new TreeMap<>();
  private final List<String> ordered = new ArrayList<>();

  ReduceTask(Path folder, Disk disk, Phases phases, String name) {
    this.folder = folder;
    this.disk = disk;
    this.phases = phases;
    this.name = name;
  }

  /** Sources are "address/file" of each map's output. */
  long run(List<String> sources) throws IOException {
    long bytes = phases.phase("shuffle", "network", () -> shuffle(sources));
    phases.phase("merge", "disk", this::merge);
    phases.phase("sort", "memory", this::sort);
    phases.phase("reduce", "memory", this::reduce);
    phases.phase("write", "memory", this::write);
    return bytes;
  }

  private long shuffle(List<String> sources) throws IOException {
    long bytes = 0;
    for (String source : sources) {
      int slash = source.indexOf('/');
      byte[] run = Peer.fetch(source.substring(0, slash), source.substring(slash + 1));
      runs.add(run);
      bytes += run.length;
    }
    return bytes;
  }

  private long merge() throws IOException {
    long bytes = 0;
    for (byte[] run : runs) {
      Path file = folder.resolve(name + ".merge");
      bytes += disk.write(file, run, run.length);
      merged.add(disk.read(file));
    }
    return bytes;
  }

  private long sort() {
    long bytes = 0;
    for (byte[] run : merged) {
      TreeMap<String, Long> one = new TreeMap<>();
      Records.add(run, one);
      ordered.addAll(one.keySet());
      bytes += run.length;
    }
    ordered.sort(null);
    return bytes;
  }

  private long reduce() {
    long bytes = 0;
    for (byte[] run : merged) {
      Records.add(run, counts);
      bytes += run.length;
    }
    return bytes;
  }

  private long write() throws IOException {
    byte[] result = Records.bytes(counts);
    return disk.write(folder.resolve(name + ".result"), result, result.length);
  }
}
