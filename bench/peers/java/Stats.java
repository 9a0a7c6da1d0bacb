/** Count, sum, least and greatest: what each window holds for each key. */
public final class Stats {
  public long count;
  public long sum;
  public long min = Long.MAX_VALUE;
  public long max = Long.MIN_VALUE;

  void add(long value) {
    ++count;
    sum += value;
    min = Math.min(min, value);
    max = Math.max(max, value);
  }

  void add(Stats other) {
    count += other.count;
    sum += other.sum;
    min = Math.min(min, other.min);
    max = Math.max(max, other.max);
  }
}
