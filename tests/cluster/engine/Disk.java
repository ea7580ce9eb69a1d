// SPDX-License-Identifier: Apache-2.0
import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/** Files past the page cache: a limit on the disk is felt by who reads and writes. Files are whole blocks, the end is zeros. */
final class Disk {
  static final int BLOCK = 4096;
  private static final int PIECE = 128 * 1024;
  private final ByteBuffer piece = ByteBuffer.allocateDirect(PIECE + BLOCK).alignedSlice(BLOCK);

  byte[] read(Path file) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ, ExtendedOpenOption.DIRECT)) {
      byte[] data = new byte[(int) channel.size()];
      for (int at = 0; at < data.length; ) {
        piece.clear().limit(PIECE);
        int got = channel.read(piece);
        if (got <= 0) throw new IOException(file + " ends at " + at);
        piece.flip().get(data, at, got);
        at += got;
      }
      return data;
    }
  }

  /** Returns the bytes that the disk took. */
  long write(Path file, byte[] data, int size) throws IOException {
    try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING,
        StandardOpenOption.WRITE, ExtendedOpenOption.DIRECT)) {
      long written = 0;
      for (int at = 0; at < size; at += PIECE) {
        int part = Math.min(PIECE, size - at);
        piece.clear();
        piece.put(data, at, part);
        while (piece.position() % BLOCK != 0) piece.put((byte) 0);
        piece.flip();
        while (piece.hasRemaining()) written += channel.write(piece);
      }
      return written;
    }
  }
}
