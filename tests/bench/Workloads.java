// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;

/**
 * Small programs in the spirit of HiBench: Workloads PROGRAM SIZE FOLDER SEED [FAULT]. Each has phases whose cost follows from SIZE:
 * it makes its input, reads it, computes, and writes. FAULT: cpu (redundant work in the compute phase), leak (copies of the input that are never released),
 * traffic (writes everything several times).
 */
final class Workloads {
  private final int size;
  private final Path folder;
  private final Random random;
  private final String fault;
  private static final List<long[]> leaked = new ArrayList<>();
  private static long sink;

  private Workloads(int size, Path folder, long seed, String fault) {
    this.size = size;
    this.folder = folder;
    this.random = new Random(seed);
    this.fault = fault;
  }

  private Path makeInput(int records) throws IOException {
    Path file = folder.resolve("input-" + ProcessHandle.current().pid());
    try (DataOutputStream out = new DataOutputStream(new BufferedOutputStream(new FileOutputStream(file.toFile()), 1 << 16))) {
      for (int i = 0; i < records; i++) out.writeLong(draw());
    }
    return file;
  }

  private long draw() {
    long value = random.nextLong();
    for (int i = 0; i < 24; i++) value = parse(value);
    return value;
  }

  private static long[] readInput(Path file) throws IOException {
    long[] values = new long[(int) (Files.size(file) / 8)];
    for (int round = 0; round < 4; round++) {
      try (DataInputStream in = new DataInputStream(new java.io.BufferedInputStream(Files.newInputStream(file), 1 << 16))) {
        for (int i = 0; i < values.length; i++) values[i] = parse(in.readLong());
      }
    }
    return values;
  }

  private static long parse(long value) {
    for (int i = 0; i < 12; i++) value = value * 6364136223846793005L + 1442695040888963407L;
    return value;
  }

  private void writeOutput(long[] values) throws IOException {
    Path file = folder.resolve("output-" + ProcessHandle.current().pid());
    int copies = "traffic".equals(fault) ? 24 : 8;
    for (int copy = 0; copy < copies; copy++) {
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
        java.nio.ByteBuffer block = java.nio.ByteBuffer.allocate(1 << 16);
        for (int i = 0; i < values.length; i++) {
          block.putLong(values[i]);
          if (!block.hasRemaining() || i + 1 == values.length) flush(channel, block);
        }
        channel.force(true);
      }
    }
    Files.deleteIfExists(file);
  }

  private static void flush(FileChannel channel, java.nio.ByteBuffer block) throws IOException {
    block.flip();
    while (block.hasRemaining()) channel.write(block);
    block.clear();
  }

  private void compute(String program, long[] values) {
    int rounds = "cpu".equals(fault) ? 2 : 1;
    for (int round = 0; round < rounds; round++) {
      if ("leak".equals(fault)) for (int i = 0; i < 4; i++) leaked.add(values.clone());
      switch (program) {
        case "sort" -> mergeSort(values.clone());
        case "wordcount" -> countWords(values);
        case "kmeans" -> cluster(values);
        case "pagerank" -> rank(values);
        case "nweight" -> weigh(values);
        case "join" -> join(values);
        default -> throw new IllegalArgumentException(program);
      }
    }
  }

  private static void mergeSort(long[] values) {
    long[] other = new long[values.length];
    for (int times = 0; times < 3; times++) {
      for (int i = 0; i < values.length; i++) values[i] = parse(values[i]);
      for (int width = 1; width < values.length; width *= 2) {
        for (int low = 0; low < values.length; low += 2 * width) merge(values, other, low, width);
        System.arraycopy(other, 0, values, 0, values.length);
      }
    }
    sink += values[0];
  }

  private static void merge(long[] from, long[] to, int low, int width) {
    int middle = Math.min(low + width, from.length);
    int high = Math.min(low + 2 * width, from.length);
    for (int i = low, j = middle, k = low; k < high; k++) to[k] = i < middle && (j >= high || from[i] <= from[j]) ? from[i++] : from[j++];
  }

  private static void countWords(long[] values) {
    Map<String, Integer> counts = new HashMap<>();
    for (long value : values) counts.merge(word(value), 1, Integer::sum);
    sink += counts.size();
  }

  private static String word(long value) {
    return "w" + Long.toString(value & 0xffff, 36);
  }

  private static void cluster(long[] values) {
    double[] centres = {-4e18, -2e18, 0, 2e18, 4e18};
    for (int round = 0; round < 12; round++) {
      double[] sums = new double[5];
      int[] counts = new int[5];
      for (long value : values) {
        int nearest = nearest(centres, value);
        sums[nearest] += value;
        counts[nearest]++;
      }
      for (int c = 0; c < 5; c++) if (counts[c] > 0) centres[c] = sums[c] / counts[c];
    }
    sink += (long) centres[0];
  }

  private static int nearest(double[] centres, double value) {
    int best = 0;
    for (int c = 1; c < centres.length; c++) if (Math.abs(centres[c] - value) < Math.abs(centres[best] - value)) best = c;
    return best;
  }

  private static void rank(long[] values) {
    double[] ranks = new double[values.length], next = new double[values.length];
    Arrays.fill(ranks, 1);
    for (int round = 0; round < 4; round++) {
      Arrays.fill(next, 0.15);
      for (int i = 0; i < values.length; i++) spread(ranks[i], values[i], next);
      double[] swap = ranks;
      ranks = next;
      next = swap;
    }
    sink += (long) ranks[0];
  }

  private static void spread(double rank, long links, double[] next) {
    for (int link = 0; link < 4; link++) next[(int) Long.remainderUnsigned(links >>> (link * 13), next.length)] += rank * 0.85 / 4;
  }

  private static void weigh(long[] values) {
    TreeMap<Integer, Double> weights = new TreeMap<>();
    for (long value : values) weights.merge((int) (value & 0x3fff), 0.5, Workloads::decayed);
    for (int round = 0; round < 30; round++) for (Map.Entry<Integer, Double> entry : weights.entrySet()) entry.setValue(decayed(entry.getValue(), 1.0));
    sink += weights.size();
  }

  private static double decayed(double a, double b) {
    return a * 0.99 + b * 0.01;
  }

  private static void join(long[] values) {
    Map<Long, Long> left = new HashMap<>();
    for (int i = 0; i < values.length / 2; i++) left.put(values[i] & 0xfffff, values[i]);
    long found = 0;
    for (int round = 0; round < 2; round++) for (int i = values.length / 2; i < values.length; i++) found += probe(left, values[i] & 0xfffff);
    sink += found;
  }

  private static long probe(Map<Long, Long> left, long key) {
    Long value = left.get(key);
    return value == null ? 0 : 1;
  }

  // A key-value store; the size is the share of reads in percent. It is filled, warmed up, and serves.
  private void store(int requests) {
    TreeMap<Long, byte[]> table = new TreeMap<>();
    for (int i = 0; i < 500_000; i++) put(table, random.nextInt(400_000));
    warm(table, requests / 3);
    serve(table, requests);
  }

  private void warm(TreeMap<Long, byte[]> table, int requests) {
    for (int i = 0; i < requests; i++) request(table);
  }

  private void serve(TreeMap<Long, byte[]> table, int requests) {
    for (int i = 0; i < requests; i++) request(table);
  }

  private void request(TreeMap<Long, byte[]> table) {
    long key = random.nextInt(400_000);
    if (random.nextInt(100) < size) get(table, key);
    else put(table, key);
  }

  private static void put(TreeMap<Long, byte[]> table, long key) {
    byte[] value = new byte[64];
    Arrays.fill(value, (byte) parse(key));
    table.put(key, value);
  }

  private static void get(TreeMap<Long, byte[]> table, long key) {
    byte[] value = table.get(key);
    sink += value == null ? 0 : value[0];
  }

  public static void main(String[] words) throws IOException {
    Workloads run = new Workloads(Integer.parseInt(words[1]), Path.of(words[2]), Long.parseLong(words[3]), words.length > 4 ? words[4] : "");
    if (words[0].equals("kv")) {
      run.store(1_400_000);
    } else {
      Path input = run.makeInput(run.size * 55_000);
      long[] values = readInput(input);
      int repeats = Map.of("sort", 1, "wordcount", 2, "kmeans", 2, "pagerank", 1, "nweight", 1, "join", 1).get(words[0]);
      for (int i = 0; i < repeats; i++) run.compute(words[0], values);
      run.writeOutput(values);
      Files.deleteIfExists(input);
    }
    System.out.println(sink);
  }
}
