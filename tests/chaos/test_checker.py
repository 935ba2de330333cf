# SPDX-License-Identifier: LGPL-3.0-or-later
"""The judge of chaos, judged: forged histories that break a promise must be rejected for the right reason, and correct
ones with every kind of overlap and doubt must pass."""
import contextlib
import io
import json
import os
import random
import sys
import unittest.mock

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "component"))
import checker  # noqa: E402
import faults  # noqa: E402
import history  # noqa: E402
import judge  # noqa: E402
import linearize  # noqa: E402
import xectest  # noqa: E402

A, B = "/c/a", "/c/b"


class Forged:
    """A history written by hand. Times are the first two arguments; `end` None: never answered."""

    def __init__(self, meta=None):
        self.lines = [{"t": "meta", "m": 2, **(meta or {})}]
        self._count = 0

    def op(self, start, end, kind, name, outcome="ok", client=0, gateway=1, protocol="http", answer=None, **fields):
        self._count += 1
        op = f"op-{self._count}"
        self.lines.append({"t": "begin", "op": op, "kind": kind, "name": name, "start": start, "client": client,
                           "gateway": gateway, "protocol": protocol, **fields})
        if end is not None:
            self.lines.append({"t": "end", "op": op, "end": end, "outcome": outcome, **(answer or {})})
        return self

    def put(self, start, end, name, number, outcome="ok", kind=history.PUT, size=100, **more):
        return self.op(start, end, kind, name, outcome, content=number, size=size, **more)

    def create(self, start, end, name, number, outcome="ok", **more):
        return self.put(start, end, name, number, outcome, kind=history.CREATE, **more)

    def get(self, start, end, name, number, size=100, **more):
        if number is None:
            return self.op(start, end, history.GET, name, "not found", **more)
        return self.op(start, end, history.GET, name, answer={"content": number, "size": size}, **more)

    def stat(self, start, end, name, size):
        return self.op(start, end, history.STAT, name, answer={"size": size})

    def list(self, start, end, folder, *names):
        return self.op(start, end, history.LIST, folder, answer={"listed": names})

    def remove(self, start, end, name, outcome="ok", **more):
        return self.op(start, end, history.REMOVE, name, outcome, **more)

    def rename(self, start, end, name, to, outcome="ok", **more):
        return self.op(start, end, history.RENAME, name, outcome, to=to, **more)

    def fault(self, start, end, kind, target):
        self._count += 1
        self.lines.append({"t": "fault", "fault": self._count, "kind": kind, "target": target, "start": start})
        if end is not None:
            self.lines.append({"t": "healed", "fault": self._count, "end": end})
        return self

    def result(self):
        return checker.report(history.from_lines(self.lines))


class JudgeTest(xectest.TestCase):
    def accept(self, forged):
        result = forged.result()
        self.assertEqual([violation.as_json() for violation in result["violations"]], [])
        return result

    def reject(self, forged, kind):
        result = forged.result()
        self.assertEqual([violation.kind for violation in result["violations"]], [kind],
                         [violation.text for violation in result["violations"]])
        self.assertEqual(checker.exit_code(result), 4 if kind == "undecided" else 1)
        return result


class Broken(JudgeTest):
    def test_wrong_bytes(self):
        forged = Forged().put(1, 2, A, 7).op(3, 4, history.GET, A, "wrong", answer={"text": "content 7 is wrong"})
        self.reject(forged, "wrong bytes")

    def test_content_that_nobody_put(self):
        self.reject(Forged().put(1, 2, A, 7).get(3, 4, A, 8), "wrong bytes")

    def test_cut_short(self):
        self.reject(Forged().put(1, 2, A, 7).get(3, 4, A, 7, size=99), "wrong bytes")

    def test_content_of_another_name(self):
        self.reject(Forged().put(1, 2, A, 7).put(1, 2, B, 8).get(3, 4, A, 8), "from nowhere")

    def test_stale_read(self):
        self.reject(Forged().put(1, 2, A, 7).put(3, 4, A, 8).get(5, 6, A, 7), "stale")

    def test_stale_read_after_another_read(self):
        """The put is not over, but somebody has read it."""
        self.reject(Forged().put(1, 2, A, 7).put(3, 9, A, 8).get(4, 5, A, 8).get(6, 7, A, 7), "stale")

    def test_stale_size(self):
        self.reject(Forged().put(1, 2, A, 7).put(3, 4, A, 8, size=50).stat(5, 6, A, 100), "wrong size")

    def test_read_of_a_removed_object(self):
        self.reject(Forged().put(1, 2, A, 7).remove(3, 4, A).get(5, 6, A, 7), "resurrected")

    def test_stat_of_a_removed_object(self):
        self.reject(Forged().put(1, 2, A, 7).remove(3, 4, A).stat(5, 6, A, 100), "resurrected")

    def test_listing_of_a_removed_object(self):
        self.reject(Forged().put(1, 2, A, 7).remove(3, 4, A).list(5, 6, "/c", "a"), "resurrected")

    def test_back_after_it_was_seen_gone(self):
        self.reject(Forged().put(1, 2, A, 7).remove(3, None, A).get(4, 5, A, None).get(6, 7, A, 7), "resurrected")

    def test_resurrected_after_a_rename(self):
        forged = Forged().put(1, 2, A, 7).rename(3, 4, A, B).get(5, 6, B, 7).remove(7, 8, B).get(9, 10, A, 7)
        self.reject(forged, "resurrected")

    def test_renamed_but_at_both_names(self):
        self.reject(Forged().put(1, 2, A, 7).rename(3, 4, A, B).get(5, 6, B, 7).get(7, 8, A, 7), "two names")

    def test_half_of_a_rename_without_an_answer(self):
        self.reject(Forged().put(1, 2, A, 7).rename(3, None, A, B).get(5, 6, B, 7).get(7, 8, A, 7), "two names")

    def test_renamed_away_into_nowhere(self):
        self.reject(Forged().put(1, 2, A, 7).rename(3, 4, A, B).get(5, 6, A, None).get(7, 8, B, None), "lost")

    def test_lost_after_a_rename_without_an_answer(self):
        self.reject(Forged().put(1, 2, A, 7).rename(3, None, A, B).get(5, 6, A, None).get(7, 8, B, None), "lost")

    def test_lost(self):
        self.reject(Forged().put(1, 2, A, 7).get(3, 4, A, None).get(5, 6, A, None), "lost")

    def test_lost_after_a_replace(self):
        self.reject(Forged().put(1, 2, A, 7).put(3, 4, A, 8).get(5, 6, A, None), "lost")

    def test_missing_in_a_listing(self):
        self.reject(Forged().put(1, 2, A, 7).put(1, 2, B, 8).list(3, 4, "/c", "b").get(5, 6, A, 7), "false not found")

    def test_false_not_found(self):
        self.reject(Forged().put(1, 2, A, 7).get(3, 4, A, None).get(5, 6, A, 7), "false not found")

    def test_removal_told_not_found(self):
        self.reject(Forged().put(1, 2, A, 7).remove(3, 4, A, "not found").get(5, 6, A, 7), "false not found")

    def test_two_exclusive_winners(self):
        self.reject(Forged().create(1, 4, A, 7).create(2, 5, A, 8), "two winners")

    def test_exclusive_over_an_object(self):
        self.reject(Forged().put(1, 2, A, 7).create(3, 5, A, 8), "overwritten")

    def test_exists_where_nothing_is(self):
        self.reject(Forged().create(1, 2, A, 7, "exists"), "false exists")

    def test_rename_of_nothing(self):
        self.reject(Forged().rename(1, 2, A, B), "renamed nothing")

    def test_conflict_that_took_effect(self):
        self.reject(Forged().put(1, 2, A, 7).put(3, 4, A, 8, "conflict").get(5, 6, A, 8), "from nowhere")

    def test_unreadable_at_the_end(self):
        self.reject(Forged().put(1, 2, A, 7).op(3, 4, history.GET, A, "error", census=True), "unreadable")

    def test_each_of_many_names_is_judged(self):
        forged = Forged()
        for number in range(1, 50):
            forged.put(number, number + 0.5, f"/p/{number}", number).get(number + 0.6, number + 0.9, f"/p/{number}", number)
        self.reject(forged.get(60, 61, "/p/31", None), "lost")


class Right(JudgeTest):
    def test_one_after_the_other(self):
        forged = Forged().get(0, 1, A, None).create(1, 2, A, 7).get(3, 4, A, 7).create(4, 5, A, 6, "exists")
        forged.put(5, 6, A, 8, size=50).stat(7, 8, A, 50).list(8, 9, "/c", "a").rename(9, 10, A, B).get(11, 12, B, 8, size=50)
        forged.get(11, 12, A, None).remove(13, 14, B).get(15, 16, B, None).list(17, 18, "/c").remove(19, 20, B, "not found")
        self.accept(forged)

    def test_overlapping_puts_end_in_either_order(self):
        for last in (7, 8):
            self.accept(Forged().put(1, 9, A, 7).put(2, 8, A, 8).get(10, 11, A, last).get(12, 13, A, last))

    def test_a_read_beside_a_put_sees_old_or_new(self):
        for seen in (7, 8):
            self.accept(Forged().put(1, 2, A, 7).put(3, 9, A, 8).get(4, 5, A, seen).get(10, 11, A, 8))

    def test_unknown_put_may_happen_late_or_never(self):
        for last in (7, 8):
            self.accept(Forged().put(1, 2, A, 7).put(3, 4, A, 8, "retry").get(5, 6, A, 7).get(7, 8, A, last))
        self.accept(Forged().put(1, None, A, 7).get(5, 6, A, None).get(7, 8, A, 7))

    def test_unknown_removal_and_rename(self):
        self.accept(Forged().put(1, 2, A, 7).remove(3, 4, A, "error").get(5, 6, A, 7).get(7, 8, A, None))
        self.accept(Forged().put(1, 2, A, 7).rename(3, None, A, B).get(5, 6, A, 7).get(7, 8, B, 7).get(9, 10, A, None))

    def test_unknown_put_between_a_removal_and_a_creation(self):
        self.accept(Forged().put(1, None, A, 7).remove(2, 3, A).create(4, 5, A, 8, "exists").get(6, 7, A, 7))

    def test_unknown_removal_before_an_exclusive_creation(self):
        self.accept(Forged().put(1, 2, A, 7).remove(3, None, A).create(4, 5, A, 8).get(6, 7, A, 8))

    def test_several_removals_at_once_all_succeed(self):
        self.accept(Forged().put(1, 2, A, 7).remove(3, 5, A).remove(3, 5, A).get(6, 7, A, None))

    def test_put_while_the_name_is_renamed_away(self):
        """Also over what was put to the target meanwhile: docs/protocol/rename.md."""
        forged = Forged().put(1, 2, A, 7).rename(3, 20, A, B).put(4, 5, A, 8).put(6, 7, B, 9).get(8, 9, B, 9)
        self.accept(forged.get(10, 11, A, 8).get(21, 22, B, 7).get(23, 24, A, 8))

    def test_the_same_with_a_rename_without_an_answer(self):
        forged = Forged().put(1, 2, A, 7).rename(3, None, A, B).put(4, 5, A, 8).put(6, 7, B, 9)
        self.accept(forged.get(10, 11, A, 8).get(21, 22, B, 7).get(23, 24, A, 8))
        forged = Forged().put(1, 2, A, 7).rename(3, None, A, B).put(4, 5, A, 8).get(8, 9, B, None)
        self.accept(forged.list(10, 11, "/c", "a", "b"))

    def test_such_a_rename_of_which_only_a_listing_tells(self):
        """Found without trying all orders, which takes too long among the other operations of a long history."""
        forged = Forged().put(1, 2, A, 7).rename(3, None, A, B).put(4, 5, A, 8).remove(6, 7, A).list(8, 9, "/c", "b")
        with unittest.mock.patch.object(linearize, "TRIED_MAX", 0):
            self.accept(forged.remove(10, 11, B).get(12, 13, B, None))

    def test_rename_without_an_answer_whose_target_was_replaced_unseen(self):
        forged = Forged().put(1, 2, A, 7).rename(3, None, A, B).put(4, 5, B, 9).get(6, 7, B, 9).get(8, 9, A, None)
        self.accept(forged.get(10, 11, B, 9))

    def test_two_ways_to_the_same_answer_are_both_kept(self):
        """Either of the empty objects explains the first read; only the plain put can explain the last."""
        forged = Forged().put(1, None, A, 5, size=0).create(1.5, None, A, 6, size=0).get(2, 3, A, history.EMPTY, size=0)
        self.accept(forged.put(4, 5, A, 9).get(6, 7, A, 9).get(8, 9, A, history.EMPTY, size=0))

    def test_there_and_back_again(self):
        forged = Forged().put(1, 2, A, 7).rename(3, 6, A, B).rename(4, 8, B, A).get(9, 10, A, 7)
        self.accept(forged.get(11, 12, B, None))

    def test_empty_objects(self):
        forged = Forged().put(1, 2, A, 7, size=0).get(3, 4, A, history.EMPTY, size=0).stat(5, 6, A, 0)
        self.accept(forged.put(7, 8, A, 9).put(9, 10, A, 10, size=0).get(11, 12, A, history.EMPTY, size=0))

    def test_sent_twice_because_the_gateway_died(self):
        told = Forged().put(1, 2, A, 7).remove(3, 5, A, "not found", protocol="root").get(6, 7, A, None)
        self.reject(Forged().put(1, 2, A, 7).remove(3, 5, A, "not found", protocol="root").get(6, 7, A, 7),
                    "false not found")
        self.accept(told.fault(4, 4.5, "kill", "gateway.1"))

    def test_long_and_crowded(self):
        """Four clients, four names joined by renames, some without an answer: judged in seconds, and one stale read among
        many right ones is found."""
        forged, reads = crowd(random.Random(5), operations=600)
        self.accept(forged)
        bad = reads[len(reads) // 3]
        name = next(line["name"] for line in forged.lines if line.get("op") == bad)
        answer = next(line for line in reversed(forged.lines) if line.get("op") == bad)
        answer["content"] = next(line["content"] for line in forged.lines if line.get("name") == name and "content" in line)
        self.assertIn(forged.result()["violations"][0].kind, ("stale", "resurrected"))


def crowd(generator, operations, clients=4, names=4):
    """A history of a perfect store: every operation happens at one moment between beginning and end."""
    forged, there, moment = Forged(), {}, 0.0
    free, running, reads = list(range(clients)), [], []
    for number in range(1, operations + 1):
        moment += 0.001
        client = free.pop(generator.randrange(len(free)))
        name, to = (f"/c/{generator.randrange(names)}" for _ in range(2))
        kind = generator.choice((history.PUT, history.CREATE, history.REMOVE, history.RENAME, history.GET, history.GET))
        running.append((client, number, kind, name, to, moment))
        while running and (len(free) < 2 or generator.random() < 0.4):
            moment += 0.001
            client, number, kind, name, to, start = running.pop(generator.randrange(len(running)))
            answered = generator.random() > 0.01
            happens = answered or generator.random() < 0.5
            # It happens now, and its end comes after a while.
            finish(forged, there, kind, name, to if to != name else name + "x", number, happens, start,
                   moment + generator.random() * 0.003 if answered else None)
            if kind == history.GET and there.get(name) and answered:
                reads.append(f"op-{forged._count}")
            free.append(client)
    return forged, reads


def finish(forged, there, kind, name, to, number, happens, start, end):
    now = there.get(name)
    if kind == history.PUT:
        there[name] = number if happens else now
        forged.put(start, end, name, number)
    elif kind == history.CREATE:
        if now is None and happens:
            there[name] = number
        forged.create(start, end, name, number, "ok" if now is None else "exists")
    elif kind == history.REMOVE:
        if now is not None and happens:
            del there[name]
        forged.remove(start, end, name, "ok" if now is not None else "not found")
    elif kind == history.RENAME:
        if now is not None and happens:
            there[to] = there.pop(name)
        forged.rename(start, end, name, to, "ok" if now is not None else "not found")
    else:
        forged.get(start, end, name, now)


class Errors(JudgeTest):
    def cause(self, forged, expected, code=0):
        """`code`: of a history with many other operations, so that one conflict is not too many."""
        for number in range(100):
            forged.op(200 + number, 200.5 + number, history.STAT, f"/other/{number}", "not found")
        result = self.accept(forged)
        self.assertEqual(result["errors"], {expected: 1})
        self.assertEqual(checker.exit_code(result), code)

    def test_error_without_a_cause(self):
        self.cause(Forged().put(1, 2, A, 7).op(3, 4, history.GET, A, "error"), "unexplained", 3)
        self.cause(Forged().put(1, 2, B, 7).put(3, 4, A, 8, "retry"), "unexplained", 3)

    def test_no_answer_without_a_cause(self):
        self.cause(Forged().put(1, None, A, 8), "unexplained", 3)

    def test_conflict(self):
        self.cause(Forged().put(1, 5, A, 7).create(2, 4, A, 8, "retry"), "conflict")

    def test_an_error_is_no_conflict(self):
        self.cause(Forged().put(1, 5, A, 7).put(2, 4, A, 8, "error"), "unexplained", 3)

    def test_a_rival_that_ended_is_none(self):
        self.cause(Forged().put(1, 2, A, 7).put(30, 40, A, 8, "retry"), "unexplained", 3)
        self.cause(Forged().put(1, 2, A, 7).create(2.1, 3, A, 8, "retry"), "unexplained", 3)

    def test_a_rival_at_another_name_is_none(self):
        self.cause(Forged().put(1, 5, B, 7).create(2, 4, A, 8, "retry"), "unexplained", 3)

    def test_a_rival_nobody_knows_the_end_of(self):
        forged = Forged().put(1, None, A, 7, client=3).create(60, 61, A, 8, "retry").fault(2, 3, "client killed", "client.3")
        for number in range(100):
            forged.op(200 + number, 200.5 + number, history.STAT, f"/other/{number}", "not found")
        self.assertEqual(self.accept(forged)["errors"], {"client": 1, "conflict": 1})

    def test_bad_servers_excuse_nothing(self):
        for kind in faults.KINDS:
            for answer in ("error", "retry"):
                forged = Forged().put(1, 9, A, 8, answer).fault(2, 8, kind, "server.1").fault(3, 8, kind, "server.2")
                self.cause(forged, "unexplained", 3)
                read = Forged().put(0, 1, A, 8).op(2, 9, history.GET, A, answer).fault(3, 8, kind, "server.1")
                self.cause(read, "unexplained", 3)

    def test_more_bad_servers_than_m(self):
        forged = Forged().put(1, 9, A, 8, "error")
        for number in range(3):
            forged.fault(2 + number, 8, "kill", f"server.{number}")
        self.cause(forged, "beyond")

    def test_two_faults_of_one_server_are_one_bad_server(self):
        forged = Forged().put(1, 9, A, 8, "error").fault(2, 8, "kill", "server.1").fault(3, 8, "stop", "server.2")
        self.cause(forged.fault(3, 8, "full", "server.2"), "unexplained", 3)

    def test_three_bad_servers_one_after_the_other_are_one(self):
        forged = Forged().put(1, 90, A, 8, "error")
        for number in range(3):
            forged.fault(20 + 20 * number, 30 + 20 * number, "kill", f"server.{number}")
        self.cause(forged, "unexplained", 3)

    def test_a_server_counts_until_it_has_settled(self):
        forged = Forged().put(1, 40, A, 8, "error")
        for number in range(3):
            forged.fault(20 + 2 * number, 21 + 2 * number, "kill", f"server.{number}")
        self.cause(forged, "beyond")

    def test_only_its_own_gateway_excuses(self):
        self.cause(Forged().put(1, 9, A, 8, "error").fault(5, 6, "kill", "gateway.1"), "gateway")
        self.cause(Forged().put(1, 9, A, 8, "error").fault(5, 6, "kill", "gateway.2"), "unexplained", 3)

    def test_only_its_own_death_excuses_a_missing_answer(self):
        self.cause(Forged().put(1, None, A, 8, client=3).fault(5, 6, "client killed", "client.3"), "client")
        self.cause(Forged().put(1, None, A, 8, client=3).fault(5, 6, "client killed", "client.4"), "unexplained", 3)


class Shortcomings(JudgeTest):
    def conflicts(self, count, of):
        forged = Forged()
        for number in range(of // 2):
            name = f"/c/{number}"
            forged.put(10 * number, 10 * number + 5, name, 2 * number + 1)
            forged.create(10 * number + 2, 10 * number + 4, name, 2 * number + 2, "retry" if number < count else "exists")
        return checker.exit_code(self.accept(forged))

    def test_one_conflict_in_twenty_at_most(self):
        self.assertEqual(self.conflicts(5, of=100), 0)
        self.assertEqual(self.conflicts(6, of=100), 3)

    def whole(self, meta):
        return checker.exit_code(self.accept(Forged(meta).put(1, 2, A, 7)))

    def test_stalls(self):
        """A gateway that hung until it was killed: the clients' errors are excused, the wait is not."""
        forged = Forged().fault(89, 91, "gateway killed", "gateway.1")
        self.assertEqual(checker.exit_code(self.accept(forged.get(1, 40, A, None))), 0)
        forged.op(45, 90, history.GET, A, "error")
        result = self.accept(forged)
        self.assertEqual((result["errors"], len(result["stalls"])), ({"gateway": 1}, 1))
        self.assertEqual(checker.exit_code(result), 3)

    def test_redundancy_must_come_back(self):
        full = {"seconds": 9, "objects": 3, "full": 3, "thin": 0, "away": 0, "lost": 0}
        self.assertEqual(self.whole({"redundancy": full, "verify": {"chunks": 10}}), 0)
        for key in ("thin", "away", "lost"):
            self.assertEqual(self.whole({"redundancy": {**full, key: 1}}), 3)
        self.assertEqual(self.whole({"redundancy": {"seconds": 9, "problem": "exit code 5"}}), 3)
        self.assertEqual(self.whole({"redundancy": full, "verify": {"chunks": 10, "corrupt": 1}}), 3)
        self.assertEqual(self.whole({"redundancy": full, "verify": {"error": "exit code 5"}}), 3)

    def test_what_a_full_run_needs(self):
        result = self.accept(Forged().put(0, 10, A, 7).fault(1, 9, "kill", "server.1"))
        short = "; ".join(checker.short_of_full(result))
        for lack in ("operations 1 of 20000", "contended 0 of 2000", "largest 100 of 268435456", "kill 1 of 20", "stale 0 of 20",
                     "gateway killed 0 of 20"):
            self.assertIn(lack, short)
        result.update(operations=20_000, mutations=7_999, contended=2_000, largest=256 << 20,
                      faults=dict.fromkeys(checker.FULL_KINDS, 20))
        self.assertEqual(checker.short_of_full(result), ["mutations 7999 of 8000"])


class Counts(JudgeTest):
    def test_counts(self):
        forged = Forged().put(0, 10, A, 7, client=1).get(5, 6, A, 7, client=2).get(20, 21, A, 7, client=2)
        forged.get(20, 21, A, 7, client=1).fault(5, 10, "kill", "server.1").fault(8, 15.5, "stop", "server.2")
        # Its own operations are no rivals to a client that got no answer.
        forged.put(30, None, B, 8, client=3).get(31, 32, B, None, client=3)
        result = self.accept(forged)
        self.assertEqual((result["operations"], result["mutations"], result["contended"]), (6, 2, 2))
        self.assertEqual(result["faults"], {"kill": 1, "stop": 1})
        self.assertEqual((result["share of time with a bad server"], result["bad servers at most"]), (0.328, 2))


class Program(JudgeTest):
    def run_checker(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = checker.main(list(arguments))
        return code, out.getvalue(), err.getvalue()

    def test_files_and_exit_codes(self):
        recorder = history.Recorder(self.path("one.jsonl"), "c1")
        op = recorder.begin(history.PUT, A, content=7, size=100)
        recorder.end(op, history.OK)
        op = recorder.begin(history.GET, A)
        recorder.end(op, history.OK, content=7, size=100)
        with open(self.path("two.jsonl"), "w", encoding="utf-8") as file:
            file.write('{"t":"meta","m":2}\n{"t":"begin","op":"cut')
        self.assertEqual(self.run_checker(self.dir)[0], 0)
        op = recorder.begin(history.GET, A)
        recorder.end(op, history.NOT_FOUND)
        code, out, _ = self.run_checker(self.dir)
        self.assertEqual(code, 1)
        self.assertIn("BROKEN: lost", out)
        code, out, _ = self.run_checker(self.dir, "--json")
        self.assertEqual((code, json.loads(out)["violations"][0]["kind"]), (1, "lost"))
        self.assertEqual(self.run_checker(self.path("none"))[0], 2)
        with open(self.path("two.jsonl"), "a", encoding="utf-8") as file:
            file.write("\n{}\n")
        self.assertEqual(self.run_checker(self.dir)[0], 2)

    def test_every_kind_of_violation_has_words(self):
        for kind in judge.KINDS:
            self.assertTrue(judge.KINDS[kind])


if __name__ == "__main__":
    xectest.main()
