#!/usr/bin/env python3
"""DuckDB on a file of events (java/Events.java says what is in it).   duckdb_peer.py WORK FILE PASSES SECONDS

One thread, the table in memory, a query a pass; the query ends where all results have been added up.
A batch engine: it has the whole table before it and knows no watermark. Prints what the other peers
print; a query's time is the CPU time of the process.
"""
import statistics
import sys
import time

import duckdb
import numpy

SECOND = 1_000_000_000
CELL = 'count(*) AS n, sum(value) AS s, min(value) AS least, max(value) AS greatest'
# Ten windows hold a pane: panes are made first, so that a window adds up panes and not events.
WINDOWS = {
    'tumbling': f'SELECT key, time // {SECOND} AS w, {CELL} FROM events GROUP BY ALL',
    'sliding': f'''
        WITH panes AS (SELECT key, time // {SECOND} AS pane, {CELL} FROM events GROUP BY ALL)
        SELECT key, pane + ahead AS w, sum(n) AS n, sum(s) AS s, min(least) AS least, max(greatest) AS greatest
        FROM panes, range(10) AS r(ahead) GROUP BY key, w''',
    'session': f'''
        WITH marked AS (SELECT key, time, value,
                          time - lag(time, 1, -{1 << 62}) OVER (PARTITION BY key ORDER BY time) >= ? AS opens
                        FROM events),
             numbered AS (SELECT key, value, sum(opens::INT) OVER (PARTITION BY key ORDER BY time) AS w FROM marked)
        SELECT key, w, {CELL} FROM numbered GROUP BY key, w''',
}


def main():
    work, path, passes, seconds = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
    words = numpy.fromfile(path, dtype='<i8').reshape(-1, 3)
    gap, rows = int(words[0, 1]), numpy.ascontiguousarray(words[1:].T)
    database = duckdb.connect(config={'threads': 1})
    columns = {'key': rows[0], 'time': rows[1], 'value': rows[2]}
    database.register('given', columns)
    database.execute('CREATE TABLE events AS SELECT * FROM given')
    query = f'SELECT count(*), sum(n), sum(s), min(least), max(greatest) FROM ({WINDOWS[work]})'
    taken, spent, result = [], 0.0, None
    for number in range(passes + 1):
        if number > 1 and spent > seconds:
            break
        begin = time.process_time()
        result = database.execute(query, [gap] if work == 'session' else []).fetchone()
        spent += time.process_time() - begin
        if number > 0:
            taken.append(time.process_time() - begin)
    ns = statistics.median(taken) * 1e9 / (len(words) - 1)
    print(f'duckdb - {ns:.2f} {len(taken)} {result[0]} {result[1]} {result[2]}')


if __name__ == '__main__':
    main()
