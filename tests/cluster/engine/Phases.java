// SPDX-License-Identifier: Apache-2.0
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;

/** Prints begins and ends as lines that a BTrace script would print: docs/how-to/phase-lines.md. One task at a time. */
final class Phases implements AutoCloseable {
  private final OutputStream out;
  private String task = "";

  Phases(Path file) throws IOException {
    out = Files.newOutputStream(file, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
  }

  @FunctionalInterface
  interface Work {
    /** Does it, and returns the bytes that went through. */
    long run() throws IOException;
  }

  void task(String job, String stage, String name, Work work) throws IOException {
    task = " job=" + job + " stage=" + stage + " task=" + name + " attempt=" + name + "_0";
    line("begin task" + task);
    long bytes = work.run();
    line("end task" + task + " bytes=" + bytes + " outcome=0");
  }

  long phase(String phase, String source, Work work) throws IOException {
    String phaseTags = " phase" + task + " phase=" + phase + (source.isEmpty() ? "" : " source=" + source);
    line("begin" + phaseTags);
    long bytes = work.run();
    line("end" + phaseTags + " bytes=" + bytes + (source.equals("network") ? " remote=" + bytes : ""));
    return bytes;
  }

  private void line(String text) throws IOException {
    Instant now = Instant.now();
    String line = "atalaya " + text + " time=" + now.getEpochSecond() + String.format("%09d", now.getNano()) + "\n";
    out.write(line.getBytes(StandardCharsets.US_ASCII));
  }

  @Override
  public void close() throws IOException {
    out.close();
  }
}
