// SPDX-License-Identifier: Apache-2.0
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Lines "word count" of a partition; an empty line or a zero ends them. */
final class Records {
  private Records() {}

  static byte[] sorted(List<String> words) {
    List<String> copy = new ArrayList<>(words);
    copy.sort(null);
    ByteArrayOutputStream out = new ByteArrayOutputStream(copy.size() * 10);
    for (String word : copy) out.writeBytes((word + " 1\n").getBytes(StandardCharsets.US_ASCII));
    return out.toByteArray();
  }

  /** Adds the lines to the counts; returns how many there were. */
  static long add(byte[] lines, Map<String, Long> counts) {
    long records = 0;
    for (int at = 0; at < lines.length && lines[at] != 0; ) {
      int end = at;
      while (end < lines.length && lines[end] != '\n') end++;
      String line = new String(lines, at, end - at, StandardCharsets.US_ASCII);
      int space = line.indexOf(' ');
      counts.merge(line.substring(0, space), Long.parseLong(line.substring(space + 1)), Long::sum);
      records++;
      at = end + 1;
    }
    return records;
  }

  static byte[] bytes(TreeMap<String, Long> counts) {
    StringBuilder text = new StringBuilder(counts.size() * 12);
    counts.forEach((word, count) -> text.append(word).append(' ').append(count).append('\n'));
    return text.toString().getBytes(StandardCharsets.US_ASCII);
  }
}
