# SPDX-License-Identifier: LGPL-3.0-or-later
"""Which files are ours, and C++ text without comments and strings, for the checks in this folder."""
import os
import re
import subprocess

REPO = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CPP = (".cc", ".hh")


def ours(root=REPO):
    """Paths relative to `root` of all files that are, or are about to be, under version control."""
    listing = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], check=True,
                             capture_output=True, text=True).stdout
    return sorted(path for path in listing.split("\0") if path and os.path.isfile(os.path.join(root, path)))


def read(path, root=REPO):
    """The text of a file, or None when it is not text."""
    try:
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()
    except UnicodeDecodeError:
        return None


_TOKENS = re.compile(r"""
    (?P<comment> //[^\n]* | /\*.*?\*/ )
  | (?P<raw> R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)" )
  | (?P<string> "(?:[^"\\\n]|\\.)*" )
  | (?P<char> (?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+' )
""", re.VERBOSE | re.DOTALL)


def code_only(text):
    """C++ text with the same lines, in which comments are blank and strings are empty."""
    def blank(match):
        lines = "\n" * match.group(0).count("\n")
        if match.group("comment"):
            return " " + lines
        return ("''" if match.group("char") else '""') + lines
    return _TOKENS.sub(blank, text)
