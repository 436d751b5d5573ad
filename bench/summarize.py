#!/usr/bin/env python3
"""Tables from the JSON lines of bench/run.sh: medians over the rounds, spread, ratio to the best peer, bar.

summarize.py RESULTS            prints the tables
summarize.py --into FILE TABLES replaces what stands between the two marks of FILE
"""
import json
import statistics
import sys

BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"

# id, scenario of ours, field, higher is better, peer, peer's scenario, peer's field, bar on PostgreSQL, bar on SQLite
BARS = [
    ("B1", "enqueue", "rate", True, "bullmq", "s1", "one", 2.0, 1.2),
    ("B1b", "enqueue-batch", "rate", True, "pg-boss", "s1", "batch_c1", 1.0, 0.8),
    ("B2", "drain", "rate", True, "pg-boss", "s2", "rate", 1.2, 1.2),
    ("B3 p50", "latency", "p50_ms", False, "bullmq", "s3", "p50", 0.65, 0.3),
    ("B4", "duplicates", "rate", True, "bullmq", "s4", "rate", 3.0, 3.0),
    ("B5", "workflow", "rate", True, "restate", "s5", "wf_s", 6.0, 10.0),
    ("B5x", "workflow --execute", "rate", True, "restate", "s5", "wf_s", 2.0, 3.0),
]


def load(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def ours(rows, scenario, store, field, worst):
    """Per round the slower of cold and warm; then over the rounds."""
    rounds = {}
    for row in rows:
        if row["who"] == "semel" and row.get("scenario") == scenario and row.get("store") == store and field in row:
            rounds.setdefault(row["round"], []).append(row[field])
    return [worst(values) for values in rounds.values()]


def theirs(rows, peer, scenario, field):
    return [r[field] for r in rows if r["who"] == "peer" and r.get("peer") == peer and r.get("sc") == scenario and field in r]


def show(values):
    if not values:
        return "-"
    middle = statistics.median(values)
    digits = 0 if middle >= 100 else 2
    return f"{middle:,.{digits}f} ({min(values):,.{digits}f} .. {max(values):,.{digits}f})"


def ratio(mine, other):
    return statistics.median(mine) / statistics.median(other) if mine and other else None


def bar_table(rows):
    print("| id | store | ours: median (min .. max) | peer | peer: median (min .. max) | ratio | bar | |")
    print("|---|---|---|---|---|---|---|---|")
    for name, scenario, field, higher, peer, peer_scenario, peer_field, pg_bar, sqlite_bar in BARS:
        other = theirs(rows, peer, peer_scenario, peer_field)
        for store, bar in (("postgres", pg_bar), ("sqlite", sqlite_bar)):
            mine = ours(rows, scenario, store, field, min if higher else max)
            factor = ratio(mine, other)
            met = "" if factor is None else ("met" if (factor >= bar if higher else factor <= bar) else "MISSED")
            shown = "-" if factor is None else f"{factor:.2f} x"
            print(f"| {name} | {store} | {show(mine)} | {peer} | {show(other)} | {shown} | {bar} x | {met} |")


def probe_table(rows):
    print("\n| share of the probe | store | ours | raw statements | share | bar | |")
    print("|---|---|---|---|---|---|---|")
    for name, scenario, probe in (("B1b", "enqueue-batch", "insert_rate"), ("B2", "drain", "claim_complete_rate"),
                                  ("B4", "duplicates", "duplicate_rate")):
        for store in ("postgres", "sqlite"):
            mine = ours(rows, scenario, store, "rate", min)
            raw = ours(rows, "limits", store, probe, min)
            factor = ratio(mine, raw)
            bar = "-" if name == "B4" else "0.6"
            met = "" if factor is None or name == "B4" else ("met" if factor >= 0.6 else "MISSED")
            print(f"| {name} | {store} | {show(mine)} | {show(raw)} | {'-' if factor is None else f'{factor:.2f}'} | {bar} | {met} |")


def other_table(rows):
    print("\n| what | store | median (min .. max) | bar |")
    print("|---|---|---|---|")
    for what, scenario, field, bar in (
            ("B1 p50 ms", "enqueue", "p50_ms", "-"), ("B1 p99 ms", "enqueue", "p99_ms", "-"),
            ("B1 operations per commit", "enqueue", "mean_batch", "-"), ("B3 p99 ms", "latency", "p99_ms", "-"),
            ("B4 executions", "duplicates", "executions", "1"),
            ("B5 steps per commit", "workflow", "steps_per_commit", "-"), ("B5 p99 ms", "workflow", "p99_ms", "-"),
            ("B5x steps per commit", "workflow --execute", "steps_per_commit", "-"), ("B6 worker idle MiB", "drain", "idle_resident_mib", "15"),
            ("B6 worker after B2 MiB", "drain", "resident_mib", "80"), ("B7 lost", "drain --kill", "lost", "0"),
            ("B7 handlers in flight at most", "drain --kill", "slots", "-"),
            ("B7 executed twice", "drain --kill", "executed_twice", "in flight"),
            ("B7 seconds from kill to done", "drain --kill", "recover_seconds", "3 after the 2 s lease")):
        for store in ("postgres", "sqlite"):
            print(f"| {what} | {store} | {show(ours(rows, scenario, store, field, max))} | {bar} |")


def growth_table(rows):
    grown = [row for row in rows if row["who"] == "growth" and not row.get("failed")]
    if not grown:
        return
    print("\n| growth | store | before | after | factor | bar | |")
    print("|---|---|---|---|---|---|---|")
    for row in grown:
        finished, queued = f"{row['finished']:,}", f"{row['queued']:,}"
        for what, before, after, higher, bar in (
                (f"drain, tasks/s: new store, beside {finished} finished", "empty_rate", "grown_rate", True, 1.3),
                (f"drain, tasks/s: 50,000 queued, {queued} queued", "grown_rate", "queued_rate", True, 1.3),
                ("enqueue to handler, p99 ms: quiet, in cleanup", "latency_p99_ms", "latency_p99_ms_in_cleanup", False, 2.0)):
            factor = row[before] / row[after] if higher else row[after] / row[before]
            met = "met" if factor <= bar else "MISSED"
            digits = 0 if higher else 2
            print(f"| {what} | {row['store']} | {row[before]:,.{digits}f} | {row[after]:,.{digits}f} | {factor:.2f} | {bar} | {met} |")
        print(f"| finished rows removed per second | {row['store']} | | {row['removed_per_second']:,} | | - | |")


def insert(path, tables):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head, rest = text.split(BEGIN, 1)
    tail = rest.split(END, 1)[1]
    with open(tables, encoding="utf-8") as file, open(path, "w", encoding="utf-8") as out:
        out.write(f"{head}{BEGIN}\n{file.read()}{END}{tail}")


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--into":
        insert(sys.argv[2], sys.argv[3])
        return
    rows = load(sys.argv[1])
    failed = [r for r in rows if r.get("failed")]
    bar_table(rows)
    probe_table(rows)
    other_table(rows)
    growth_table(rows)
    for row in failed:
        print(f"\nfailed: {json.dumps(row)}")


if __name__ == "__main__":
    main()
