// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;

/** Counts the words of a split, in the five steps of a map task of Hadoop. Its output is a file per partition. */
final class MapTask {
  private static final int SPILLS = 2;
  private static final int ROUNDS = 150;  // cost of the user's function
  private final Path folder;
  private final Disk disk;
  private final Phases phases;
  private byte[] split;
  private final List<String> words = new ArrayList<>();
  private final List<List<String>> partitions = new ArrayList<>();
  private final String name;

  MapTask(Path folder, Disk disk, Phases phases, String name, int reduces) {
    this.folder = folder;
    this.disk = disk;
    this.phases = phases;
    this.name = name;
    for (int i = 0; i < reduces; i++) partitions.add(new ArrayList<>());
  }

  /** The holder of the split is "local", or another node's address. */
  long run(String file, String holder) throws IOException {
    boolean local = holder.equals("local");
    long bytes = phases.phase("read", local ? "disk" : "network", () -> read(file, holder));
    phases.phase("map", "memory", this::map);
    phases.phase("collect", "memory", this::collect);
    phases.phase("spill", "memory", this::spill);
    phases.phase("merge", "disk", this::merge);
    return bytes;
  }

  private long read(String file, String holder) throws IOException {
    split = holder.equals("local") ? disk.read(folder.resolve(file)) : Peer.fetch(holder, file);
    return split.length;
  }

  private long map() {
    int begin = 0;
    for (int at = 0; at < split.length; at++) {
      if (split[at] > ' ') continue;
      if (at > begin && weight(begin, at) != 0) words.add(new String(split, begin, at - begin, StandardCharsets.US_ASCII));
      begin = at + 1;
    }
    return split.length;
  }

  /** The user's function: something to compute of each word. */
  private int weight(int begin, int end) {
    int weight = 1;
    for (int round = 0; round < ROUNDS; round++)
      for (int at = begin; at < end; at++) weight = (weight * 31 + split[at]) | 1;
    return weight;
  }

  private long collect() {
    for (String word : words) partitions.get(Math.floorMod(word.hashCode(), partitions.size())).add(word);
    return split.length;
  }

  private String spillName(int spill, int partition) {
    return name + ".spill" + spill + "." + partition;
  }

  private long spill() throws IOException {
    long bytes = 0;
    for (int p = 0; p < partitions.size(); p++) {
      List<String> all = partitions.get(p);
      for (int s = 0; s < SPILLS; s++) {
        byte[] run = Records.sorted(all.subList(all.size() * s / SPILLS, all.size() * (s + 1) / SPILLS));
        bytes += disk.write(folder.resolve(spillName(s, p)), run, run.length);
      }
    }
    return bytes;
  }

  /** Equal words become one, as in a combiner. */
  private long merge() throws IOException {
    long bytes = 0;
    for (int p = 0; p < partitions.size(); p++) {
      TreeMap<String, Long> counts = new TreeMap<>();
      for (int s = 0; s < SPILLS; s++) {
        byte[] run = disk.read(folder.resolve(spillName(s, p)));
        bytes += run.length;
        Records.add(run, counts);
      }
      byte[] merged = Records.bytes(counts);
      disk.write(folder.resolve(name + ".out." + p), merged, merged.length);
    }
    return bytes;
  }
}
