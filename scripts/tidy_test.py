#!/usr/bin/env python3
"""Each rule of scripts/tidy.py and scripts/hotcheck finds what it bans and leaves alone what only
looks like it."""
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import tidy

sys.dont_write_bytecode = True  # no cache beside the scripts
loader = importlib.machinery.SourceFileLoader(
    'hotcheck', str(pathlib.Path(__file__).resolve().parent / 'hotcheck'))
hotcheck = importlib.util.module_from_spec(importlib.util.spec_from_loader('hotcheck', loader))
loader.exec_module(hotcheck)

BUILD = """
subdir('base')     # knows nothing
subdir('memory')   # knows base
subdir('event')    # knows base
subdir('metrics')  # knows base
subdir('io')       # two doors   knows event
subdir('query')    # knows event
subdir('window')   # stores      knows event query memory
subdir('pipeline') # the turn    knows query window metrics
subdir('egress')   # knows io query window
subdir('runtime')  # knows pipeline egress
subdir('config')   # knows query
"""
HEADER = '// What it is for.\n#pragma once\n'


def rules(path, text, allowed=()):
    """Rules that a single file breaks, in a tree whose build file names every source."""
    files = {'src/meson.build': BUILD, path: text}
    if path.endswith('.cc'):
        name = path.rsplit('/', 1)
        files[name[0] + '/meson.build'] = f"x = ['{name[1]}' ]"
    return [problem.rule for problem in tidy.check(files, allowed)]


class Includes(unittest.TestCase):
    def test_rooms_include_what_they_know(self):
        for included in ('window/store.h', 'query/plan.h', 'base/time.h', 'memory/arena.h',
                         'pipeline/exchange.h', 'event/rows.h'):
            self.assertEqual(rules('src/pipeline/a.cc', f'#include "{included}"\n'), [], included)

    def test_what_is_known_is_known_through_others(self):
        self.assertEqual(rules('src/runtime/a.cc', '#include "io/sink.h"\n'), [])

    def test_later_or_unknown_rooms_are_refused(self):
        self.assertEqual(rules('src/window/a.cc', '#include "pipeline/pipeline.h"\n'), ['room'])
        self.assertEqual(rules('src/base/a.cc', '#include "event/rows.h"\n'), ['room'])
        self.assertEqual(rules('src/window/a.cc', '#include "metrics/counters.h"\n'), ['room'])
        self.assertEqual(rules('src/config/a.cc', '#include "runtime/worker.h"\n'), ['room'])

    def test_drivers_know_the_doors_and_themselves(self):
        self.assertEqual(rules('drivers/dpdk/a.cc', '#include "io/source.h"\n'
                                                    '#include "drivers/dpdk/port.h"\n'), [])
        self.assertEqual(rules('drivers/dpdk/a.cc', '#include "pipeline/pipeline.h"\n'), ['driver'])
        self.assertEqual(rules('drivers/dpdk/a.cc', '#include "drivers/uring/ring.h"\n'),
                         ['driver'])

    def test_only_catalogue_and_app_name_drivers(self):
        line = '#include "drivers/uring/ring.h"\n'
        self.assertEqual(rules('drivers/catalog.cc', line), [])
        self.assertEqual(rules('src/app/a.cc', line), [])
        self.assertEqual(rules('tests/unit/a_test.cc', line), [])
        self.assertEqual(rules('src/runtime/a.cc', line), ['driver'])


class Words(unittest.TestCase):
    def found(self, path, line):
        return rules(path, line + '\n')

    def test_clocks_below_runtime(self):
        for word in ('std::chrono::steady_clock::now()', 'clock_gettime(id, &t)', 'rte_rdtsc()',
                     'absl::Now()', 'time(nullptr)'):
            for path in ('src/window/a.cc', 'src/egress/a.cc', 'src/config/a.cc',
                         'drivers/uring/a.cc'):
                self.assertEqual(self.found(path, f'x = {word};'), ['clock'], word)
            self.assertEqual(self.found('src/runtime/a.cc', f'x = {word};'), [])
        self.assertEqual(self.found('src/window/a.cc', 'const auto time = row.time(0);'), ['clock'])

    def test_hot_rooms(self):
        for rule, line in (('allocation', 'auto* p = new Cell;'),
                           ('allocation', 'p = std::make_unique<Cell>();'),
                           ('allocation', 'void* p = malloc(8);'),
                           ('indirect', 'std::function<void()> f;'),
                           ('lock', 'std::lock_guard lock(m);'),
                           ('exception', 'throw 1;'),
                           ('log', 'std::cerr << 1;'),
                           ('log', 'printf("x");')):
            for path in ('src/window/a.cc', 'src/io/a.cc', 'drivers/uring/feed.cc'):
                self.assertEqual(self.found(path, line), [rule], line)
            self.assertEqual(self.found('src/runtime/a.cc', line), [], line)

    def test_what_only_looks_like_it(self):
        for line in ('// new keys: throw them away', 'const char* s = "new mutex";', 'x = newest;',
                     '#include <new>', 'new (at) Cell;', '/* malloc\nprintf */',
                     "char c = '\"'; int news = 1'000;",
                     'R"(throw new)";', 'std::snprintf(to, size, "x");'):
            self.assertEqual(self.found('src/window/a.cc', line), [], line)

    def test_words_after_literals_are_seen(self):
        self.assertEqual(self.found('src/window/a.cc', 'f("//"); throw 1;'), ['exception'])
        self.assertEqual(self.found('src/window/a.cc', "int n = 1'000; throw 1; int m = 2'000;"),
                         ['exception'])

    def test_elsewhere(self):
        self.assertEqual(self.found('src/window/a.cc', 'double sum = 0;'), ['float'])
        self.assertEqual(self.found('src/metrics/a.cc', 'double rate = 0;'), [])
        self.assertEqual(self.found('tests/unit/a_test.cc', 'std::mt19937 g;'), ['random'])
        self.assertEqual(self.found('src/config/a.cc', 'x = atoi(s);'), ['unsafe'])
        self.assertEqual(self.found('src/config/a.cc', 'assert(x);'), ['assert'])
        self.assertEqual(self.found('src/config/a.cc', 'static_assert(x);'), [])
        self.assertEqual(self.found('src/config/a.cc', '#define X 1'), ['macro'])
        self.assertEqual(self.found('src/config/a.cc', 'using namespace std;'), ['namespace'])
        self.assertEqual(self.found('src/config/a.cc', 'using namespace std::literals;'), [])


class Form(unittest.TestCase):
    def test_headers(self):
        self.assertEqual(rules('src/base/a.h', HEADER), [])
        self.assertEqual(rules('src/base/a.h', '// For.\n'), ['header'])
        self.assertEqual(rules('src/base/a.h', '#pragma once\n'), ['header'])

    def test_names(self):
        self.assertEqual(rules('src/base/TimeSource.h', HEADER), ['name'])
        self.assertEqual(rules('tests/unit/base/a.cc', 'TEST(A, B) {}\n'), ['name'])
        self.assertEqual(rules('tests/unit/base/a.cc', 'int helper;\n'), [])

    def test_length_and_space(self):
        self.assertEqual(rules('src/base/a.cc', 'x' * 100 + '\n'), [])
        self.assertEqual(rules('src/base/a.cc', 'x' * 101 + '\n'), ['length'])
        self.assertEqual(rules('src/base/a.cc', '// ' + 'ü' * 97 + '\n'), [])
        self.assertEqual(rules('src/base/a.cc', 'x \n'), ['space'])
        self.assertEqual(rules('src/base/a.cc', '\tx\n'), ['space'])
        self.assertEqual(rules('src/base/a.cc', 'x'), ['space'])

    def test_size(self):
        self.assertEqual(rules('src/base/a.cc', 'x\n' * tidy.FILE_LINES), [])
        self.assertEqual(rules('src/base/a.cc', 'x\n' * (tidy.FILE_LINES + 1)), ['size'])

    def test_sources_are_built(self):
        files = {'src/meson.build': BUILD, 'src/base/a.cc': '', 'src/base/b_test.cc': ''}
        self.assertEqual([p.rule for p in tidy.check(files, ())], ['dead', 'dead'])
        files['src/base/meson.build'] = "['a.cc', 'ab.cc']\nforeach n : ['b']\n n + '_test.cc'"
        self.assertEqual(tidy.check(files, ()), [])


class Text(unittest.TestCase):
    def test_marks_paths(self):
        for path in ('src/README.md', 'src/base/a.cc', 'scripts/run'):
            self.assertEqual(rules(path, '// TODO: more\n'), ['mark'])
            self.assertEqual(rules(path, '// see /' + 'root/x\n'), ['path'])
            self.assertEqual(rules(path, '// build/work/x, a todo list, debian\n'), [])


class Allowances(unittest.TestCase):
    ALLOWED = (tidy.Allowance('src/window/*.cc', 'allocation', 'make_unique<Store>', 'at start'),)

    def test_excuses_its_line_only(self):
        self.assertEqual(rules('src/window/a.cc', 'p = std::make_unique<Store>();\n', self.ALLOWED),
                         [])
        self.assertEqual(rules('src/window/a.cc', 'p = std::make_unique<Store>();\n'
                                                  'q = std::make_unique<Cell>();\n', self.ALLOWED),
                         ['allocation'])

    def test_a_stale_one_is_a_problem(self):
        self.assertEqual(rules('src/window/a.cc', '', self.ALLOWED), ['allowed'])


class Hotcheck(unittest.TestCase):
    def test_qualified_names(self):
        for symbol, name in (
                ('T& std::vector<a::T, std::allocator<a::T> >::emplace_back<a::T>(a::T&&)',
                 'std::vector::emplace_back'),
                ('tidewire::Store<2u>::fire(long) [clone .cold]', 'tidewire::Store::fire'),
                ('operator new(unsigned long)', 'operator new'),
                ('tidewire::(anonymous namespace)::f(int)', 'tidewire::anonymous::f'),
                ('vtable for std::exception', 'tidewire::std::exception')):
            self.assertEqual(hotcheck.qualified(symbol), name)

    @unittest.skipUnless(shutil.which('g++') and shutil.which('objdump'), 'no compiler')
    def test_finds_what_a_method_reaches_through_templates(self):
        source = """
            #include <mutex>
            #include <vector>
            namespace tidewire { struct S {
              std::vector<int> v; std::mutex m;
              S(); void add(int x); int sum() const; void lock(); };
            S::S() { v.reserve(8); }
            void S::add(int x) { v.push_back(x); }
            int S::sum() const { int s = 0; for (int x : v) s += x; return s; }
            void S::lock() { std::lock_guard l(m); } }"""
        with tempfile.TemporaryDirectory() as folder:
            room = pathlib.Path(folder) / 'src' / 'window'
            room.mkdir(parents=True)
            subprocess.run(['g++', '-std=c++20', '-O1', '-c', '-x', 'c++', '-o', room / 'a.o', '-'],
                           input=source, text=True, check=True)
            subprocess.run(['ar', 'rc', room / 'libtidewire_window.a', room / 'a.o'], check=True)
            seen, problems = hotcheck.check(pathlib.Path(folder))
        self.assertEqual(seen, 1)
        functions = {problem.split(': ')[1].split(' calls ')[0] for problem in problems}
        self.assertEqual(functions, {'tidewire::S::add', 'tidewire::S::lock'})
        self.assertIn('libtidewire_window.a: tidewire::S::add calls operator new', problems)


if __name__ == '__main__':
    unittest.main()
