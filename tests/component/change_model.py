# SPDX-License-Identifier: LGPL-3.0-or-later
"""What files must be while two handles change them: bytes in memory. A world is what all names show to others, a dict
of names to bytes.

    model.choose(handle) -> (METHOD, ARGUMENTS)         of change_client.py
    model.commits(handle, METHOD)                       does it make what was changed visible?
    model.worlds(handle, METHOD, ARGUMENTS)             if the process dies in it
    model.answered(handle, METHOD, ARGUMENTS, ok, VALUE)
    model.died(WORLDS, WORLD)                           what was found then; answers whether that is the first of the worlds
    model.begin_anew()                                  at other names

A wrong answer is an AssertionError."""
import dataclasses

from change_client import bytes_of

LETTERS = "abc"
WRITE_MAX, SIZE_MAX = 30_000, 100_000
HANDLES = range(2)


def require(holds, what):
    if not holds:
        raise AssertionError(what)


def written(data, piece, offset):
    """`data` with the piece, and zeros between its end and that."""
    data = data + bytes(max(0, offset - len(data)))
    return data[:offset] + piece + data[offset + len(piece):]


class Model:
    changes = ("write", "append", "truncate")
    # What is done with an open file, and how often of a hundred times.
    weights = {"write": 22, "append": 20, "truncate": 5, "read": 22, "size": 3, "sync": 6, "close": 10, "rename": 5, "content": 7}

    def __init__(self, random):
        self.random = random
        self.eras = 0
        self.begin_anew()

    def begin_anew(self):
        """Nothing is there, at other names: an upload of a process that died stands in the way of changes for an hour."""
        self.open = [None for _ in HANDLES]
        self.names = [f"/era{self.eras}/{letter}" for letter in LETTERS]
        self.eras += 1

    def choose(self, handle):
        methods = self.weights if self.open[handle] else {"open": 80, "rename": 10, "content": 10}
        method = self.random.choices(list(methods), list(methods.values()))[0]
        name, seed = self.random.choice(self.names), self.random.getrandbits(32)
        size = int(WRITE_MAX ** self.random.random())
        now = len(self.data(handle)) if self.open[handle] else 0
        offset = self.random.randrange(min(now + now // 4 + 10, SIZE_MAX))
        if method == "append" and now > SIZE_MAX:
            return "truncate", (offset, )
        return method, {
            "open": (name, self.random.choices(("update", "truncate", "exclusive"), (6, 3, 2))[0]),
            "write": (seed, size, offset), "append": (seed, size), "truncate": (offset, ), "read": (offset, 2 * size),
            "rename": (name, self.random.choice([other for other in self.names if other != name])), "content": (name, )}.get(method, ())

    def changed(self, handle, method, arguments):
        """What the bytes of the handle are after one of `changes`."""
        data = self.data(handle)
        if method == "truncate":
            return data[:arguments[0]] + bytes(max(0, arguments[0] - len(data)))
        seed, size, *offset = arguments
        return written(data, bytes_of(seed, size), offset[0] if offset else len(data))

    def check_value(self, handle, method, arguments, value):
        if method == "read":
            offset, size = arguments
            require(value == self.data(handle)[offset:offset + size], f"handle {handle} reads other bytes")
        elif method == "size":
            require(value == len(self.data(handle)), f"handle {handle}: its size is {value}, not {len(self.data(handle))}")
        elif method == "content":
            require(value == self.shown(arguments[0]), f"{arguments[0]} shows other bytes")


@dataclasses.dataclass
class Edit:
    name: str
    data: bytes
    base: object  # the version it stands on; None: nothing; ANY: whatever is there
    changed: bool
    commits: tuple = ("sync", "close")
    synced: bool = False  # what it committed is opened by its name, once it is needed


ANY = object()


class Separate(Model):
    """Each handle sees its own changes, and a commit is refused if the name is not what it was. A version is an object
    of its own. `upload_commits`: what commits a handle that began empty."""

    def __init__(self, random, upload_commits=("sync", "close")):
        super().__init__(random)
        self.upload_commits = upload_commits

    def begin_anew(self):
        super().begin_anew()
        self.committed = {}  # bytes and version

    def data(self, handle):
        return self.open[handle].data

    def shown(self, name):
        return self.committed.get(name, (None, ))[0]

    def version(self, name):
        return self.committed[name][1] if name in self.committed else None

    def has_rival(self, handle):
        other = self.open[1 - handle]
        return other is not None and other.changed and other.name == self.open[handle].name

    def may(self, handle, method, arguments):
        """What may be answered: some of True and False."""
        edit = self.open[handle]
        if method == "open":
            name, how = arguments
            there = name in self.committed
            return {there if how == "update" else not there if how == "exclusive" else True}
        if method == "rename":
            return {arguments[0] in self.committed}
        if self.commits(handle, method) or method in self.changes:
            stands = edit.base is ANY or edit.base is self.version(edit.name)
            if self.has_rival(handle):
                return {True, False}
            return {True, stands} if method in self.changes else {stands}
        return {True, not edit.synced or edit.base is self.version(edit.name)} if method == "read" else {True}

    def commits(self, handle, method):
        edit = self.open[handle]
        return edit is not None and edit.changed and method in edit.commits

    def after(self, handle, method, arguments):
        """What is committed after a success."""
        edit = self.open[handle]
        now = dict(self.committed)
        if method == "rename":
            now[arguments[1]] = (now.pop(arguments[0])[0], object())
        elif self.commits(handle, method):
            now[edit.name] = (edit.data, object())
        return now

    def worlds(self, handle, method, arguments):
        may = self.may(handle, method, arguments)
        return [self.committed] + ([self.after(handle, method, arguments)] if True in may else [])

    def answered(self, handle, method, arguments, ok, value):
        require(ok in self.may(handle, method, arguments), "it is done" if ok else f"it is refused: {value}")
        if not ok:
            if method not in ("open", "rename"):
                self.open[handle] = None
            return
        if method == "open":
            name, how = arguments
            self.open[handle] = (Edit(name, *self.committed[name], False) if how == "update" else
                                 Edit(name, b"", None if how == "exclusive" else ANY, True, self.upload_commits))
            return
        self.check_value(handle, method, arguments, value)
        edit = self.open[handle]
        commits = self.commits(handle, method)
        self.committed = self.after(handle, method, arguments)
        if method in self.changes:
            data = self.changed(handle, method, arguments)
            edit.changed = edit.changed or method != "truncate" or len(data) != len(edit.data)
            edit.data = data
        elif method == "sync" and commits:
            edit.base, edit.changed, edit.synced = self.version(edit.name), False, True
        elif method == "close":
            self.open[handle] = None

    def died(self, worlds, found):
        return check_found(found, [{name: data for name, (data, _) in world.items()} for world in worlds])


class File:
    """One that has a name, or had one."""

    def __init__(self, name, data=b""):
        self.name, self.committed, self.data = name, data, data


class Shared(Model):
    """All handles of a file share its changes, and go with it where it is renamed; nothing is refused but what files
    refuse."""

    def begin_anew(self):
        super().begin_anew()
        self.files = {}

    def data(self, handle):
        return self.open[handle].data

    def shown(self, name):
        return self.files[name].data if name in self.files else None

    def commits(self, handle, method):
        file = self.open[handle]
        return method in ("sync", "close") and file is not None and file.name is not None and file.data != file.committed

    def must(self, method, arguments):
        """Is it done?"""
        if method == "open":
            name, how = arguments
            return name in self.files if how == "update" else name not in self.files if how == "exclusive" else True
        return arguments[0] in self.files if method == "rename" else True

    def worlds(self, handle, method, arguments):
        now = {name: file.committed for name, file in self.files.items()}
        worlds = [now]
        if not self.must(method, arguments):
            return worlds
        file = self.open[handle]
        if method == "open" and arguments[0] not in now:
            worlds.append({**now, arguments[0]: b""})
        elif method in ("sync", "close") and file.name:
            worlds.append({**now, file.name: file.data})
        elif method == "rename":
            name, new = arguments
            whole = {**now, name: self.files[name].data}
            worlds += [whole, {**{other: data for other, data in whole.items() if other != name}, new: whole[name]}]
        return worlds

    def answered(self, handle, method, arguments, ok, value):
        require(ok == self.must(method, arguments), "it is done" if ok else f"it is refused: {value}")
        if not ok:
            return
        file = self.open[handle]
        if method == "open":
            name, how = arguments
            file = self.files.setdefault(name, File(name))
            file.data = b"" if how == "truncate" else file.data
            self.open[handle] = file
            return
        self.check_value(handle, method, arguments, value)
        if method in self.changes:
            file.data = self.changed(handle, method, arguments)
        elif method in ("sync", "close"):
            file.committed = file.data
            self.open[handle] = file if method == "sync" else None
        elif method == "rename":
            self.rename(*arguments)

    def rename(self, name, new):
        file = self.files.pop(name)
        if new in self.files:
            self.files[new].name = None
        file.name, file.committed = new, file.data
        self.files[new] = file

    def died(self, worlds, found):
        return check_found(found, worlds)


def check_found(found, worlds):
    def sizes(world):
        return {name: len(data) for name, data in sorted(world.items())}

    def wrong(world):
        return [name for name in sorted({*found, *world}) if found.get(name) != world.get(name)]
    require(found in worlds, f"not every file is as it was before or after: {sizes(found)}, which is none of "
            f"{[sizes(world) for world in worlds]}: other bytes in {[wrong(world) for world in worlds]}")
    return found == worlds[0]
