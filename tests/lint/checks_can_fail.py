#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-3.0-or-later
"""Every rule of tools/check_rules.py and tools/check_layers.py must complain about what it forbids, and about
nothing in the same words inside comments and strings; tools/bounds.py about every value that it cannot read."""
import os
import sys
import unittest
import unittest.mock

REPO = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(REPO, "tools"))
import bounds  # noqa: E402
import check_layers  # noqa: E402
import check_rules  # noqa: E402
import source_files  # noqa: E402


def rules_in(path, text):
    code = source_files.code_only(text)
    found = [*check_rules.check_text(path, text), *check_rules.check_shape(path, text),
             *check_rules.check_banned(path, code), *check_rules.check_locks(path, code),
             *check_rules.check_functions(path, check_rules.cpp_functions(code))]
    return {problem.split(": ")[1] for problem in found}


class Rules(unittest.TestCase):
    HEAD = "// " + check_rules.SPDX + "\n"

    def test_banned_words(self):
        for rule, line in [
                ("thread", "std::thread t(f);"), ("detach", "t.detach();"), ("rand", "int x = rand();"),
                ("handler", "class H : public XrdCl::ResponseHandler {};"), ("new", "auto* p = new Thing(1);"),
                ("delete", "delete p;"), ("delete", "delete[] p;"), ("catch", "try { f(); } catch (...) { }"),
                ("system_clock", "std::chrono::system_clock::now();"),
                ("co_await", "while (co_await More()) co_await Next();"), ("co_await", "x = y ? co_await A() : co_await B();"),
                ("co_await", "if (!co_await Pause()) co_return;"),
                ("lock", "std::mutex m;"), ("lock", "std::shared_lock lock(m);"), ("lock", "std::condition_variable_any c;"),
                ("lock", "void F() { const MutexLock lock(m_); if (x) { co_await Next(); } }"),
                ("lock", "void F() { { ReaderLock lock{m_}; co_yield 1; } }"),
                ("sleep", "std::this_thread::sleep_for(1s);"),
                ("path", '"/ho' 'me/x"'), ("todo", "// TO" "DO: later"), ("registry", "// pypi." "org")]:
            with self.subTest(rule=rule, line=line):
                self.assertEqual(rules_in("src/store/a.cc", self.HEAD + line + "\n"), {rule})

    def test_good_lines(self):
        for line in ["void F() { { MutexLock lock(m_); ++x_; } co_await Next(); }", "explicit MutexLock(Mutex& mutex);",
                     "std::thread::id id;", "std::jthread t;", "while (gather.pending() > 0) co_await gather.Next();", "A(const A&) = delete;", "A(const A&)=delete;",
                     "// a new version, delete it, rand() and std::thread", 'Log("new object, delete it");',
                     'auto s = R"(new Thing; delete p;)";', "int renew = 1'000'000; int newer = brand(1);",
                     "void operator delete(void*);", "// TO" "DO(issue 7): when 6.1 is the base"]:
            with self.subTest(line=line):
                self.assertEqual(rules_in("src/store/a.cc", self.HEAD + line + "\n"), set())

    def test_allowed_places(self):
        self.assertEqual(rules_in("src/runtime/pool.cc", self.HEAD + "std::thread t(f);\n"), set())
        self.assertEqual(rules_in("src/store/a_test.cc", self.HEAD + "std::mutex m;\n"), set())

    def test_shape(self):
        self.assertEqual(rules_in("src/store/a.hh", "int x;\n"), {"spdx", "pragma"})
        long_file = self.HEAD + "int x;\n" * check_rules.FILE_LINES_MAX
        self.assertEqual(rules_in("src/store/a.cc", long_file), {"length"})

    def test_links(self):
        for path, text, complaints in [
                ("protocol.md", "[x](operations.md)", 0), ("protocol.md", "[x](nowhere.md)", 1),
                ("protocol/put.md", "[x](../protocol.md#states)", 0), ("limits.md", "[x](protocol.md#nothing)", 1),
                ("limits.md", "# One two\n[x](#one-two) [x](#one)", 1), ("limits.md", "[x](https://example.org/a)", 0)]:
            with self.subTest(path=path, text=text):
                self.assertEqual(len(list(check_rules.check_links("docs/" + path, text))), complaints)
        for name, complaints in [("operations", 0), ("nowhere", 1)]:
            self.assertEqual(len(list(check_rules.check_links("src/a.cc", f"// docs/{name}" ".md"))), complaints)

    def test_functions(self):
        body = "  Call();\n" * (check_rules.FUNCTION_LINES_MAX - 2)
        for head in ["void F() {\n", "namespace xec {\nResult<int> A::F(int x) const {\n", "TEST(A, B) {\n",
                     "class A {\n public:\n  A() : x_{1}, y_(2) {\n", "Task<void> F(\n    int a) {\n"]:
            first = head.split("\n")[-2:-1][0]
            shorter = body if not first.startswith("    ") else body.replace("  Call();\n", "", 1)
            with self.subTest(head=head):
                self.assertEqual(rules_in("src/store/a.cc", self.HEAD + head + shorter + "}\n"), set())
                self.assertEqual(rules_in("src/store/a.cc", self.HEAD + head + shorter + "Call();\n}\n"), {"function"})
        table = "void F() {\n  int rows[] = {\n" + "      {1, [](int x) { return x; }},\n" * 90 + "  };\n}\n"
        self.assertEqual(rules_in("src/store/a.cc", self.HEAD + table), set())
        many = "".join(f"void F{i}() {{\n  Call();\n}}\n" for i in range(60))
        self.assertEqual(rules_in("src/store/a.cc", self.HEAD + "namespace xec {\n" + many + "}\n"), set())
        self.assertEqual([lines for _, lines in check_rules.python_functions("def f():\n  x = 1\n  return x\n")], [3])


class Layers(unittest.TestCase):
    def test_source(self):
        for path, line, complaints in [
                ("src/base/a.cc", '#include "runtime/task.hh"', 1), ("src/runtime/a.cc", '#include "base/log.hh"', 0),
                ("src/store/a.cc", '#include <XrdCl/XrdClFile.hh>', 1), ("src/codec/a.cc", '#include "geometry.hh"', 1),
                ("src/server/a.cc", '#include "server_xrootd/x.hh"', 1),
                ("src/server_xrootd/a.cc", '#include "XrdCl/XrdClFile.hh"', 0),
                ("src/base/test/a_test.cc", '#include "runtime/task.hh"', 0)]:
            with self.subTest(path=path, line=line):
                self.assertEqual(len(list(check_layers.check_source(path, line + "\n"))), complaints)

    def test_subfolders(self):
        table = {"object": ["archives", "read"], "server": [check_layers.ROOT, "kinds"]}
        with unittest.mock.patch.object(check_layers, "SUBFOLDERS", table):
            for path, line, complaints in [
                    ("src/object/read/a.cc", '#include "object/archives/b.hh"', 0),
                    ("src/object/archives/a.hh", '#include "object/read/b.hh"', 1),
                    ("src/object/archives/test/a_test.cc", '#include "object/read/b.hh"', 0),
                    ("src/server/a.cc", '#include "server/kinds/b.hh"', 1),
                    ("src/server/kinds/a.cc", '#include "server/b.hh"', 0),
                    ("src/server/kinds/a.cc", '#include "object/read/b.hh"', 1),
                    ("src/object/read/a.cc", '#include "commit/test/b.hh"', 1)]:
                with self.subTest(path=path, line=line):
                    self.assertEqual(len(list(check_layers.check_source(path, line + "\n"))), complaints)
            for path, complaints in [
                    ("src/object/read/a.cc", 0), ("src/object/read/test/a_test.cc", 0), ("src/object/a.cc", 1),
                    ("src/object/write/a.cc", 1), ("src/object/write/test/a_test.cc", 1), ("src/object/read/deep/a.cc", 1),
                    ("src/server/a.cc", 0), ("src/server/conformance/a.cc", 0), ("src/base/a.cc", 0),
                    ("src/base/test/a_test.cc", 0), ("src/base/a_test.cc", 1), ("src/base/text/a.cc", 1)]:
                with self.subTest(path=path):
                    self.assertEqual(len(list(check_layers.check_place(path))), complaints)

    def test_cycles(self):
        def found(**includes):
            return list(check_layers.check_cycles({
                f"src/store/{name.replace('_', '.')}": "".join(f'#include "store/{other}.hh"\n' for other in others.split())
                for name, others in includes.items()}))
        self.assertEqual(found(a_hh="b", a_cc="a c", b_hh="c", c_hh=""), [])
        # A .cc file counts as its header's component: this compiles, and is a circle all the same.
        self.assertEqual([problem.split(";")[0] for problem in found(a_hh="", a_cc="a b", b_hh="a", b_cc="b", c_hh="a b")],
                         ["src: components include each other in a circle: store/a -> store/b -> store/a"])
        self.assertEqual([problem.split(": ")[2].split(";")[0] for problem in
                          found(a_hh="b", b_hh="c", c_hh="a d", d_hh="e", e_hh="d f", f_hh="")],
                         ["store/a -> store/b -> store/c -> store/a", "store/d -> store/e -> store/d"])

    def test_cmake(self):
        self.assertEqual(len(list(check_layers.check_cmake(
            "x", "xec_layer(codec SOURCES a.cc DEPS base store LIBS Foo::store)"))), 1)
        self.assertEqual(list(check_layers.check_cmake("x", "xec_layer(codec SOURCES a.cc\n  DEPS base)")), [])

    def test_table_is_in_order(self):
        seen = ["xec"]  # include/xec, which capi offers
        for folder, below in check_layers.LAYERS.items():
            self.assertTrue(set(below) <= set(seen), folder)
            seen.append(folder)


class Bounds(unittest.TestCase):
    ROW = ("what", "a.hh", "kMax", "bytes", "")

    def test_values(self):
        for text, unit, told in [
                ("constexpr size_t kMax = 64 * kMiB;", "bytes", "64 MiB"), ("  uint64_t kMax = kGiB;", "bytes", "1 GiB"),
                ("constexpr uint64_t kMax = uint64_t{1} << 20;", "bytes", "1 MiB"), ("int kMax = 1'000;", "names", "1,000 names"),
                ("Duration kMax = std::chrono::milliseconds(2500);", "time", "2.5 s"), ("int kMax = 600;", "seconds", "10 min"),
                ("// int kMax = 7;\nint kMax = 3600 * 1000;\nreturn kMax == 2;", "milliseconds", "1 h")]:
            with self.subTest(text=text):
                self.assertEqual(bounds.bound((*self.ROW[:3], unit, ""), text), told)
        self.assertEqual(bounds.bound((*self.ROW[:2], '"Window"', "seconds", ""), 'x[] = {{"Window", 3}, {"Other", 0}};'), "3 s")
        self.assertEqual(bounds.bound((*self.ROW[:2], "kMax[1]", "time", ""),
                                      "Rows kMax = {{ {seconds(1), seconds(2), seconds(3)}, {seconds(4), seconds(5), "
                                      "std::chrono::minutes(1)}, }};"), "5 s to 1 min")

    def test_what_cannot_be_read(self):
        for text in ["", "int kMax = 1;\nint kMax = 2;", "int kMax = Other();", "int kMax = sizeof(int);", "// int kMax = 1;"]:
            with self.subTest(text=text), self.assertRaises(bounds.Wrong):
                bounds.bound(self.ROW, text)

    def test_the_document(self):
        old = bounds.replaced(f"before\n{bounds.BEGIN}\n{bounds.END}\nafter\n", "| a | 1 |")
        self.assertEqual(bounds.replaced(old, "| a | 1 |"), old)
        self.assertEqual(bounds.differences(old, bounds.replaced(old, "| a | 2 |")), ["- | a | 1 |", "+ | a | 2 |"])
        for broken in ["", bounds.BEGIN, f"{bounds.END}{bounds.BEGIN}"]:
            with self.subTest(broken=broken), self.assertRaises(bounds.Wrong):
                bounds.replaced(broken, "")

    def test_a_changed_constant_is_noticed(self):
        def read(path):
            text = source_files.read(path)
            return text.replace("kObjectsMax = 1000", "kObjectsMax = 1001") if path.endswith("repair_queue.hh") else text
        document = source_files.read(bounds.DOCUMENT)
        self.assertEqual(bounds.replaced(document, bounds.table()), document)
        self.assertEqual(len(bounds.differences(document, bounds.replaced(document, bounds.table(read)))), 2)


if __name__ == "__main__":
    unittest.main()
