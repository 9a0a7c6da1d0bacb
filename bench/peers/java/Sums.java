/** All results of a pass, added up: equal for everyone who is right. */
final class Sums {
  long results;
  long count;
  long sum;

  void add(Stats stats) {
    ++results;
    count += stats.count;
    sum += stats.sum;
  }
}
