# SPDX-License-Identifier: LGPL-3.0-or-later
"""What somebody at a terminal sees of the program xec: progress bars, which a pipe never gets, and bash's completion."""
import os
import pty
import re
import select
import subprocess
import time

import xectest

WIPE = "\r\033[K"
COMPLETION = os.path.join(xectest.REPO, "completion", "xec.bash")


class Terminal:
    """A pseudo-terminal with a program in it, and all that it wrote."""

    def __init__(self, test, argv, env=None, stdin=None):
        self.test, self.text = test, ""
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(argv, stdin=stdin or slave, stdout=slave, stderr=slave, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm", **(env or {})})
        os.close(slave)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.kill)
        test.addCleanup(os.close, self.master)

    def read(self, seconds):
        """Some more text; False at the end, or when nothing comes for so long."""
        if not select.select([self.master], [], [], max(0, seconds))[0]:
            return False
        try:
            piece = os.read(self.master, 65536)
        except OSError:  # the last program that had it open has ended
            return False
        self.text += piece.decode(errors="replace")
        return bool(piece)

    def wait_text(self, pattern, seconds=20):
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text):
            if not self.read(deadline - time.monotonic()):
                self.test.fail(f"no {pattern!r} in {self.text!r}")

    def type(self, text):
        os.write(self.master, text.encode())

    def end(self, code=0):
        """What it wrote to its end."""
        while self.read(60):
            pass
        self.test.assertEqual(self.process.wait(60), code, self.text)
        return self.text.replace("\r\n", "\n")


class ProgressBars(xectest.TestCase):
    def setUp(self):
        super().setUp()
        self.words = [word for i in range(1, 7) for word in ("--data", self.path(f"d{i}"))]
        self.file = self.random_file("file", 12_000_000)
        self.xec("mkdir", "--geometry", "4+2", "/dir")

    def argv(self, command, *operands):
        return [self.program("xec"), command, *self.words, *operands]

    def xec(self, command, *operands, **options):
        return self.run_program(self.argv(command, *operands), **options)

    def on_terminal(self, command, *operands, **options):
        return Terminal(self, self.argv(command, *operands), **options).end()

    def check_bar(self, text, label, summary):
        """Drawn in one line over itself, and wiped before the summary."""
        drawn, _, rest = text.rpartition(WIPE)
        lines = drawn.split(WIPE)[1:]
        self.assertTrue(lines, text)
        shares = []
        for line in lines:
            match = re.fullmatch(rf"{label}  \[(#*)(\.*)\] +(\d+)%  \d+(\.\d)? [KM]?i?B  \d+(\.\d)? [KMG]?i?B/s", line)
            self.assertTrue(match, repr(line))
            self.assertEqual(len(match.group(1) + match.group(2)), 24)
            self.assertEqual(len(match.group(1)), int(match.group(3)) * 24 // 100)
            shares.append(int(match.group(3)))
        self.assertEqual(shares, sorted(shares))
        self.assertRegex(rest, summary)
        self.assertNotIn("\033", rest)

    def test_put_get_and_verify(self):
        self.check_bar(self.on_terminal("put", self.file, "/a"), "put /a", r"^/a  11\.4 MiB\n$")
        self.check_bar(self.on_terminal("get", "/a", self.path("back")), "get /a", rf"^{self.path('back')}\n$")
        self.assert_same(self.file, self.path("back"))
        text = self.on_terminal("verify", "/a")
        self.assertRegex(text, rf"{re.escape(WIPE)}verify /a  \d")
        self.assertRegex(text, rf"{re.escape(WIPE)}/a  18 chunks read, 0 bad\n$")

    def test_a_stream_has_no_end_to_show(self):
        with subprocess.Popen(["cat", self.file], stdout=subprocess.PIPE) as source:
            text = self.on_terminal("put", "-", "/stream", stdin=source.stdout)
        self.assertRegex(text, rf"{re.escape(WIPE)}put /stream  \d+(\.\d)? [KM]iB  \d")
        self.assertNotIn("%", text)

    def test_pipes_and_quiet_users_get_none(self):
        for command, *operands in (("put", self.file, "/a"), ("get", "/a", self.path("back")), ("verify", "/a")):
            result = self.xec(command, *operands)
            self.assertNotRegex(result.out + result.err, r"[\r\033%]")
            self.assertEqual(result.err, "")
            self.assertEqual(len(result.out.splitlines()), 1, result.out)
        self.assertEqual(self.on_terminal("put", "-q", self.file, "/b"), "")
        self.assertEqual(self.on_terminal("get", "-q", "/b", self.path("quiet")), "")
        self.assert_same(self.file, self.path("quiet"))


class Completion(xectest.TestCase):
    def complete(self, *words):
        """What bash offers for the last word, by the function that is registered for xec."""
        script = ('source "$0"; [[ $(complete -p xec) == *" -F _xec xec" ]] || exit 1; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _xec; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        return self.run_program(["bash", "--norc", "-u", "-c", script, COMPLETION, "xec", *words],
                                cwd=self.dir).out.split("\n")[:-1]

    def test_words_are_those_of_the_program(self):
        commands = [word for word in self.complete("") if not word.startswith("-")]
        help_text = self.run_program([self.program("xec"), "--help"]).out
        for command in commands:
            self.assertRegex(help_text, rf"(?m)^ +{command}\b")
            flags = self.complete(command, "-")
            self.assertIn("--help", flags)
            of_command = self.run_program([self.program("xec"), command, "--help"]).out
            for flag in flags:
                self.assertRegex(of_command, rf"(?<![\w-]){flag}(?![\w-])", f"{command} has no {flag}")
        self.assertIn("serve", commands)
        self.assertEqual(self.complete("v"), ["verify", "version"])
        self.assertEqual(self.complete("put", "--sync", ""), ["commit", "none"])
        self.assertEqual(self.complete("serve", "--ht"), ["--http-port"])
        self.assertEqual(self.complete("nothing", "-"), [""])

    def test_files_and_directories(self):
        os.makedirs(self.path("disk1"))
        self.random_file("disk.txt", 10)
        self.assertEqual(sorted(self.complete("put", "di")), ["disk.txt", "disk1"])
        self.assertEqual(self.complete("serve", "--data", "di"), ["disk1"])
        self.random_file("two words", 10)
        self.assertEqual(self.complete("put", "two"), ["two words"])

    def test_at_a_prompt(self):
        terminal = Terminal(self, ["bash", "--noprofile", "--norc", "-i"],
                            env={"PS1": "ready> ", "PATH": os.path.dirname(self.program("xec")) + ":" + os.environ["PATH"],
                                 "INPUTRC": "/dev/null", "HISTFILE": ""})
        terminal.wait_text("ready> ")
        terminal.type(f"bind 'set enable-bracketed-paste off'; source {COMPLETION}; echo go''on\n")
        terminal.wait_text(r"goon\r\n[^\n]*ready> ")
        terminal.type("xec vers\t--js\t\n")
        terminal.wait_text(r'"version"')
        self.assertRegex(terminal.text, r"xec version --json ")
        terminal.type("exit\n")
        terminal.end()


if __name__ == "__main__":
    xectest.main()
