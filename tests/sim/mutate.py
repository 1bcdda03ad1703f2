#!/usr/bin/env python3
"""Break the engine on purpose, one way at a time, and see whether the simulation notices.

    tests/sim/mutate.py [--only NAME]... [--seeds N] [--jobs N] [--dir DIR]

Each tests/sim/mutations/NAME.patch is applied to a copy of the tree; only `sim` is built there and run from seed 1 until one
fails. A patch whose text says "Noticed by test_x." breaks what the simulation cannot see, and is tried with that unit test instead.
Prints a table: mutation, first seed that fails, what it said. Exit 1 if a mutation was not noticed within N seeds (default
2000), or if a patch does not apply any more. "Seeds from N." in a patch: the first seed is N, since others have not what it breaks.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PATCHES = sorted((ROOT / "tests/sim/mutations").glob("*.patch"))
CHUNK = 100  # seeds between two looks


def run(args, **kw):
    return subprocess.run(args, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)


def copy_tree(to):
    names = set(filter(None, run(["git", "ls-files", "--cached", "--others", "--exclude-standard"], cwd=ROOT).stdout.split("\n")))
    for old in [p for p in to.rglob("*") if p.is_file() and p.relative_to(to).parts[0] != "build"]:
        if str(old.relative_to(to)) not in names:
            old.unlink()  # of another version
    for name in names:
        src, dst = ROOT / name, to / name
        if src.is_file() and not (dst.is_file() and dst.read_bytes() == src.read_bytes()):
            dst.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(src, dst)  # with a new date: what was built from another version is built again
            shutil.copymode(src, dst)


def restore(files):
    """Write files as they were; patch -R may find another place than patch did."""
    for path, text in files.items():
        if path.read_bytes() != text:
            path.write_bytes(text)


def unit_test(patch):
    """The unit test that has to notice a mutation; None: the simulation has to."""
    named = re.search(r"^Noticed by (\w+)\.$", patch.read_text(), re.M)
    return named and named.group(1)


def first_seed(patch):
    named = re.search(r"^Seeds from (\d+)\.$", patch.read_text(), re.M)
    return int(named.group(1)) if named else 1


def build(tree, target="sim"):
    if not (tree / "build").exists():
        made = run(["cmake", "-S", tree, "-B", tree / "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTSD_WERROR=OFF"])
        if made.returncode:
            sys.exit(made.stdout)
    return run(["cmake", "--build", tree / "build", "--target", target])


def first_failure(tree, seeds, jobs, first=1):
    """(seed, text) of the lowest of so many seeds that fails, or None."""
    sim, end = tree / "build/tests/sim", first + seeds
    for at in range(first, end, CHUNK):
        out = run([sim, "--seeds", f"{at}..{min(at + CHUNK, end) - 1}", "--jobs", str(jobs), "--stop"], errors="replace").stdout
        found = sorted((int(n), text) for n, text in re.findall(r"^FAILED seed (\d+)(?: step \d+)?: (.*)$", out, re.M))
        if found:
            return found[0]
    return None


def failed_test(tree, name):
    """("name", text) if the unit test fails, or None."""
    done = run([tree / "build/tests" / name], errors="replace")
    found = re.findall(r"^\[  FAILED  \] (test_\w+)$", done.stdout, re.M)
    return (name, ", ".join(dict.fromkeys(found)) or done.stdout[-200:]) if done.returncode else None


def main():
    arg = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arg.add_argument("--only", action="append", default=[], metavar="NAME")
    arg.add_argument("--seeds", type=int, default=2000)
    arg.add_argument("--jobs", type=int, default=2)
    arg.add_argument("--dir", help="where the copy is made and kept; default: a temporary folder")
    opt = arg.parse_args()
    tree = pathlib.Path(opt.dir or tempfile.mkdtemp(prefix="tsd-mutate-"))
    copy_tree(tree)
    bad = 0
    try:
        made = build(tree)
        if made.returncode:
            sys.exit(made.stdout)
        whole = first_failure(tree, CHUNK, opt.jobs)
        if whole:
            sys.exit(f"without any mutation seed {whole[0]} fails: {whole[1]}")
        for patch in PATCHES:
            if opt.only and patch.stem not in opt.only:
                continue
            paths = [tree / name for name in re.findall(r"^\+\+\+ b/(\S+)", patch.read_text(), re.M)]
            originals = {path: path.read_bytes() for path in paths if path.is_file()}
            done = run(["patch", "-p1", "--no-backup-if-mismatch", "-i", patch], cwd=tree)
            if done.returncode:
                print(f"{patch.stem:34} DOES NOT APPLY\n{done.stdout}", flush=True)
                bad += 1
                restore(originals)
                continue
            test = unit_test(patch)
            made = build(tree, test or "sim")
            if made.returncode:
                print(f"{patch.stem:34} DOES NOT BUILD\n{made.stdout[-2000:]}", flush=True)
                bad += 1
            else:
                found = failed_test(tree, test) if test else first_failure(tree, opt.seeds, opt.jobs, first_seed(patch))
                bad += not found
                print(f"{patch.stem:34} " + (f"{'' if test else 'seed '}{found[0]:<5} {found[1]}" if found else "NOT NOTICED"), flush=True)
            restore(originals)
    finally:
        if not opt.dir:
            shutil.rmtree(tree)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
