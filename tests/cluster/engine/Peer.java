// SPDX-License-Identifier: Apache-2.0
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;

/** Hands out files of a node's folder to other nodes: the name comes in, the size and the bytes go out. */
final class Peer {
  private Peer() {}

  static int serve(Path folder, String address) throws IOException {
    ServerSocket server = new ServerSocket(0, 64, InetAddress.getByName(address));
    Thread thread = new Thread(() -> accept(server, folder), "peer");
    thread.setDaemon(true);
    thread.start();
    return server.getLocalPort();
  }

  private static void accept(ServerSocket server, Path folder) {
    while (true) {
      try (Socket socket = server.accept();
          DataInputStream in = new DataInputStream(socket.getInputStream());
          DataOutputStream out = new DataOutputStream(socket.getOutputStream())) {
        byte[] data = Files.readAllBytes(folder.resolve(in.readUTF()));
        out.writeInt(data.length);
        out.write(data);
      } catch (IOException error) {
        System.err.println("peer: " + error);
      }
    }
  }

  static byte[] fetch(String address, String name) throws IOException {
    int colon = address.lastIndexOf(':');
    try (Socket socket = new Socket(address.substring(0, colon), Integer.parseInt(address.substring(colon + 1)));
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        DataInputStream in = new DataInputStream(socket.getInputStream())) {
      out.writeUTF(name);
      byte[] data = new byte[in.readInt()];
      in.readFully(data);
      return data;
    }
  }
}
