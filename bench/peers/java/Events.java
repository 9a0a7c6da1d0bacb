import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;

/**
 * The events that Tidewire is measured on, from the file that containers_bench writes: rows of three words, the first
 * of them bound, gap and number of events, the others key, time and value. Times are nanoseconds; the peers' own unit
 * is a millisecond by name only, so that all windows and all sessions are exactly the same.
 */
final class Events {
  static final int BATCH = 256; // the watermark moves once in a batch, as Tidewire's turns do
  static final long SECOND = 1_000_000_000L;

  final long bound;
  final long gap;
  final int count;
  private final long[] words;
  private final long span;

  Events(Path path) throws IOException {
    try (FileChannel file = FileChannel.open(path)) {
      final long size = file.size();
      words = new long[(int) (size / 8)];
      final ByteBuffer bytes = ByteBuffer.allocateDirect(1 << 20).order(ByteOrder.LITTLE_ENDIAN);
      for (int at = 0; file.read(bytes) >= 0 || bytes.position() > 0; bytes.compact()) {
        bytes.flip();
        while (bytes.remaining() >= 8) {
          words[at++] = bytes.getLong();
        }
      }
    }
    bound = words[0];
    gap = words[1];
    count = (int) words[2];
    if (words.length != 3 * (count + 1)) {
      throw new IOException(path + ": " + count + " events are said to be there, and are not; write it again");
    }
    long first = Long.MAX_VALUE;
    long last = Long.MIN_VALUE;
    for (int i = 0; i < count; ++i) {
      first = Math.min(first, time(i));
      last = Math.max(last, time(i));
    }
    span = (last - first) / SECOND * SECOND + 200 * SECOND;
  }

  long key(int i) {
    return words[3 * i + 3];
  }

  long time(int i) {
    return words[3 * i + 4];
  }

  long value(int i) {
    return words[3 * i + 5];
  }

  /** How far a pass lies behind the first one, where one operator sees them all. */
  long shift(int pass) {
    return pass * span;
  }
}
