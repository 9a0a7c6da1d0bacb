#!/usr/bin/env python3
"""The room rules, checked by machine.   scripts/tidy.py [ROOT]

Prints `file:line: rule: what is wrong; what to do instead`, one a line; exit 1 if there is any. The
tables below are the rules; where a rule must be broken, ALLOWED says where and why, and an entry that
no longer matches anything is itself an error.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

LINE_LENGTH = 100
FILE_LINES = 600  # what is longer has two subjects

# Rooms whose code runs an event or a burst; no allocation, lock, exception, log or system call there
# after construction.
HOT_ROOMS = ('event', 'io', 'framing', 'format', 'watermark', 'window', 'pipeline', 'metrics')
HOT_FILES = ('src/base/spsc_ring.h', 'src/base/hash.h', 'drivers/dpdk/rx_queue.cc',
             'drivers/uring/feed.cc')
# Rooms in which a number decides a result: it must not depend on the order of additions.
EXACT_ROOMS = ('base', 'event', 'watermark', 'window', 'pipeline', 'egress')

OPEN_ROOMS = ('base', 'memory', 'event')  # any room behind them in the build file may use these
DRIVER_ROOMS = ('base', 'memory', 'event', 'metrics', 'io', 'framing')


class Words(NamedTuple):
    rule: str
    where: str  # 'hot', 'exact', 'clockless', 'program' (src and drivers), 'code' (all C++)
    pattern: str
    instead: str


WORDS = (
    Words('clock', 'clockless',
          r'\b(steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday|'
          r'rte_rdtsc\w*|rte_get_\w*cycles|__rdtscp?|absl::Now)\b|\btime\(\s*(nullptr|NULL|0)\s*\)',
          'time is an argument: runtime reads the clock once a burst'),
    Words('allocation', 'hot',
          r'(?<!<)\bnew\b(?!>|\s*\()|\b(malloc|calloc|realloc|aligned_alloc|make_unique|make_shared|'
          r'shared_ptr)\b',
          'take memory from the arena at construction'),
    Words('indirect', 'hot', r'\bstd::(function|any)\b', 'a template or one virtual call a burst'),
    Words('lock', 'hot',
          r'\b(mutex|shared_mutex|lock_guard|unique_lock|scoped_lock|condition_variable\w*|'
          r'pthread_\w+|counting_semaphore|future|promise)\b',
          'cross cores by base/spsc_ring.h'),
    Words('exception', 'hot', r'\b(throw|try|catch)\b', 'count by name, or CHECK for a bug'),
    Words('log', 'hot', r'\b(f?printf|puts|fputs|std::cout|std::cerr|std::clog|syslog)\b'
          r'|#include <(iostream|fstream)>',
          'workers count; the control thread speaks'),
    Words('float', 'exact', r'\b(float|double)\b', 'int64 fixed-point, 128-bit sums'),
    Words('random', 'code', r'\b(std::rand|srand|mt19937\w*|random_device)\b', 'base/rng.h'),
    Words('unsafe', 'code', r'\b(sprintf|strcpy|strcat|gets|atoi|atol|atof|alloca)\b',
          'std::from_chars, query/field_text.h or a bounded copy'),
    Words('assert', 'program', r'\bassert\s*\(|#include <c?assert(\.h)?>', 'CHECK or DCHECK'),
    Words('namespace', 'code', r'\busing namespace std\s*;', 'say std::'),
    Words('macro', 'program', r'^\s*#\s*define\b', 'constexpr, a function or a template'),
)


class Allowance(NamedTuple):
    path: str  # glob
    rule: str
    pattern: str  # must be found in the line
    reason: str


ALLOWED = (
    Allowance('src/base/check.h', 'macro', 'CHECK', 'the only macros: expression, file and line'),
    Allowance('drivers/sim/source.cc', 'macro', 'TIDEWIRE_SIM_ASAN',
              'whether the sanitizer is there is told by macros only'),
    Allowance('drivers/dpdk/port.cc', 'clock', 'CLOCK_REALTIME',
              'a device clock in ticks is tied to UTC when the port is opened'),
    Allowance('drivers/dpdk/rx_queue.cc', 'allocation', 'shared_ptr<const Port>',
              'a queue keeps its port open; taken at start, given back at the end'),
    Allowance('src/format/*', 'allocation',
              r'return std::make_unique<(\w+(Parser|Format)|TextFormat<\w+>|Made)>',
              'formats and parsers are made at start'),
    Allowance('src/window/by_key_words.h', 'allocation', r'make_unique<Store<',
              'a store is made at start; its memory comes from the arena'),
    Allowance('src/pipeline/*.cc', 'allocation', r'make_unique<(Impl|Ring)>', 'made at start'),
)

# In any text of the tree.
MARKS = r'\b(TODO|FIXME|XXX|HACK)\b'
MACHINE_PATHS = r'(?<![\w.])/(work|root|home|Users)/[\w.-]+'
TEXT_SUFFIXES = ('.h', '.cc', '.py', '.md', '.build', '.conf', '.ini', '.txt', '.sh', '.toml', '.yml')
RULE_FILES = ('scripts/tidy.py', 'scripts/tidy_test.py')  # they spell out what is banned


class Problem(NamedTuple):
    path: str
    line: int
    rule: str
    text: str
    source: str = ''  # the line itself, for ALLOWED

    def __str__(self):
        return f'{self.path}:{self.line}: {self.rule}: {self.text}'


def blank(text):
    """C++ without comments and literals; the same lines and columns."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                       r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)
    return token.sub(lambda m: re.sub(r'[^\n]', ' ', m.group()), text)


def includes(text):
    """(line, path) of every include in quotes; <...> is not ours."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.match(r'\s*#\s*include\s+"([^"]+)"', line):
            yield number, match.group(1)


def room_map(meson):
    """Rooms in order, each with the rooms it may include, from src/meson.build."""
    rooms = {}
    for match in re.finditer(r"^subdir\('(\w+)'\)(?:.*\bknows +([\w ]+))?", meson, re.M):
        name, known = match.group(1), (match.group(2) or '').split()
        allowed = {name, *(room for room in OPEN_ROOMS if room in rooms)}
        for room in known:
            allowed |= rooms.get(room, set())
        rooms[name] = allowed
    return rooms


def room_of(path):
    parts = pathlib.PurePosixPath(path).parts
    return parts[1] if len(parts) > 2 and parts[0] == 'src' else None


def check_includes(path, text, rooms):
    parts = pathlib.PurePosixPath(path).parts
    room = room_of(path)
    for line, included in includes(text):
        target = included.split('/')[0] if '/' in included else None
        if target == 'drivers':
            named = included.split('/')[1]
            own = parts[0] == 'drivers' and parts[1] == named
            if parts[0] in ('src', 'drivers') and room != 'app' and not own \
                    and parts[1] not in ('catalog.cc', 'catalog.h') \
                    and not (room is None and parts[:2] == ('src', 'main.cc')):
                yield Problem(path, line, 'driver',
                              f'"{included}"; only drivers/catalog and src/app name drivers')
            continue
        if target not in rooms:
            continue
        if room in rooms and target not in rooms[room]:
            yield Problem(path, line, 'room',
                          f'"{included}": {room} does not know {target}; see src/meson.build')
        if parts[0] == 'drivers' and len(parts) > 2 and target not in DRIVER_ROOMS:
            yield Problem(path, line, 'driver',
                          f'"{included}"; a driver knows {" ".join(DRIVER_ROOMS)} only')


def applies(where, path, clockless):
    room = room_of(path)
    program = path.startswith(('src/', 'drivers/'))
    return {'hot': room in HOT_ROOMS or path in HOT_FILES,
            'exact': room in EXACT_ROOMS,
            'clockless': room in clockless or path.startswith('drivers/'),
            'program': program,
            'code': True}[where]


def check_words(path, text, rooms):
    names = list(rooms)
    below_runtime = names[:names.index('runtime')] if 'runtime' in names else names
    clockless = {*below_runtime, 'config'}
    active = [words for words in WORDS if applies(words.where, path, clockless)]
    lines = text.splitlines()
    for number, line in enumerate(blank(text).splitlines(), 1):
        # Blanking leaves no name of an include; <...> is kept, as a word can be banned there.
        for words in active:
            if match := re.search(words.pattern, line):
                yield Problem(path, number, words.rule,
                              f'"{match.group().strip()}"; {words.instead}', lines[number - 1])


def check_form(path, text):
    name = pathlib.PurePosixPath(path).name
    if not re.fullmatch(r'[a-z][a-z0-9_]*\.(h|cc)', name):
        yield Problem(path, 1, 'name', 'files are lower_case.h or lower_case.cc')
    if re.search(r'^TEST(_F|_P)?\(', text, re.M) and not name.endswith('_test.cc'):
        yield Problem(path, 1, 'name', 'tests stand in x_test.cc')
    if re.search(r'^BENCHMARK\(', text, re.M) and not name.endswith('_bench.cc'):
        yield Problem(path, 1, 'name', 'benches stand in x_bench.cc')
    lines = text.splitlines()
    if name.endswith('.h'):
        if not re.search(r'^#pragma once$', text, re.M):
            yield Problem(path, 1, 'header', 'no #pragma once')
        if not text.startswith('// '):
            yield Problem(path, 1, 'header', 'opens without a paragraph on what it is for')
    for number, line in enumerate(lines, 1):
        if len(line) > LINE_LENGTH:
            yield Problem(path, number, 'length', f'{len(line)} columns of {LINE_LENGTH}', line)
        if line != line.rstrip() or '\t' in line:
            yield Problem(path, number, 'space', 'a tab, or space at the end', line)
    if len(lines) > FILE_LINES and path.startswith(('src/', 'drivers/')):
        yield Problem(path, FILE_LINES, 'size', f'{len(lines)} lines of {FILE_LINES}')
    if text and not text.endswith('\n'):
        yield Problem(path, len(lines), 'space', 'no newline at the end')


def check_text(path, text):
    if path in RULE_FILES:
        return
    for number, line in enumerate(text.splitlines(), 1):
        for rule, pattern, why in (('mark', MARKS, 'do it or open an issue'),
                                   ('path', MACHINE_PATHS, 'a path of one machine')):
            if match := re.search(pattern, line):
                yield Problem(path, number, rule, f'"{match.group()}"; {why}', line)


def is_built(stem, build):
    """Whether a build file names a source: whole, or as 'kind' and '_suffix.cc' of a loop."""
    if re.search(rf"[/'\" ]{re.escape(stem)}(\.cc)?['\" ]", build):
        return True
    return any(f"'{stem[:at]}'" in build and f"'{stem[at:]}.cc'" in build
               for at, letter in enumerate(stem) if letter == '_')


def check_built(files):
    """Every source is named in the meson.build of its folder or of one above."""
    builds = {str(pathlib.PurePosixPath(path).parent): text for path, text in files.items()
              if path.endswith('meson.build')}
    for path in files:
        if not path.endswith('.cc'):
            continue
        pure = pathlib.PurePosixPath(path)
        if not any(is_built(pure.stem, builds.get(str(up), '')) for up in pure.parents):
            yield Problem(path, 1, 'dead', 'in no meson.build')


def check(files, allowed=ALLOWED):
    """All problems of a tree given as {path: text}."""
    rooms = room_map(files.get('src/meson.build', ''))
    problems = list(check_built(files))
    for path, text in files.items():
        if path.endswith(('.h', '.cc')):
            problems += check_includes(path, text, rooms)
            problems += check_words(path, text, rooms)
            problems += check_form(path, text)
        problems += check_text(path, text)
    used = set()

    def excused(problem):
        for allowance in allowed:
            if allowance.rule == problem.rule and fnmatch.fnmatch(problem.path, allowance.path) \
                    and re.search(allowance.pattern, problem.source):
                used.add(allowance)
                return True
        return False

    problems = [problem for problem in problems if not excused(problem)]
    for allowance in allowed:
        if allowance not in used:
            problems.append(Problem('scripts/tidy.py', 1, 'allowed',
                                    f'{allowance.path} no longer needs "{allowance.rule}"'))
    return sorted(problems)


def tree(root):
    listed = subprocess.run(['git', 'ls-files', '-z', '--cached', '--others', '--exclude-standard'],
                            cwd=root, check=True, capture_output=True).stdout
    files = {}
    for name in listed.decode().split('\0'):
        path = root / name
        if not name or not path.is_file():
            continue
        if path.suffix not in TEXT_SUFFIXES and not name.startswith(('scripts/', '.ci/')):
            continue
        try:
            files[name] = path.read_text(encoding='utf-8')
        except UnicodeDecodeError:
            continue  # corpus or capture
    return files


def main(arguments):
    root = pathlib.Path(arguments[1] if len(arguments) > 1 else
                        pathlib.Path(__file__).resolve().parent.parent)
    problems = check(tree(root))
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == '__main__':
    sys.exit(main(sys.argv))
