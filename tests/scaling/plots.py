"""Figures of docs/SCALING.md, drawn from what rowkeys.py computed; readable on light and dark pages, since they bring their own background."""
import os

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)
import numpy as np

SHOWN = {"sequential ids": "#b2182b", "bits reversed": "#e08214", "salt, 4 buckets": "#7fbf7b", "salt, 20 buckets": "#1b7837",
         "hash of the series": "#2166ac", "prefix of the month": "#762a83"}
matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "rowkeys", "font.family": "sans-serif", "font.size": 10,
                            "figure.facecolor": "#fbfaf7", "axes.facecolor": "#fbfaf7", "axes.grid": True, "grid.color": "#dddddd",
                            "axes.spines.top": False, "axes.spines.right": False})


def save(fig, folder, name):
    fig.savefig(os.path.join(folder, name), metadata={"Date": None})
    plt.close(fig)


def means(day, value, width=5):
    """Means over some days each."""
    edges = np.arange(0, day[-1] + width, width)
    which = np.digitize(day, edges) - 1
    n = np.bincount(which)
    return edges[:len(n)] + width / 2, np.bincount(which, value) / n


def spread(folder, done):
    fig, (top, low) = plt.subplots(2, 1, figsize=(8, 6.4), sharex=True, layout="constrained")
    for name, table, h in done:
        if name in SHOWN:
            top.plot(*means(h["day"], h["usable"]), color=SHOWN[name], label=name)
            low.plot(*means(h["day"], 100 * h["hottest"]), color=SHOWN[name])
    top.set(ylabel="usable servers of 20\n(mean load / highest load x 20)", ylim=(0, 20.5))
    low.set(xlabel="days since the table was created", ylabel="writes that go to the\nhottest region (%, log scale)", yscale="log")
    top.legend(ncols=3, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    save(fig, folder, "spread.svg")


def regions(folder, done):
    fig, (left, right) = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    for name, table, h in done:
        if name in SHOWN:
            left.plot(*means(h["day"], h["regions"]), color=SHOWN[name], label=name)
            x, y = means(h["day"], h["splits"], 5)
            right.plot(x, y * 86400 / table.load.step, color=SHOWN[name])
    left.set(xlabel="days", ylabel="regions")
    right.set(xlabel="days", ylabel="splits a day")
    left.legend(frameon=False, fontsize=8)
    save(fig, folder, "regions.svg")


def fan_out(folder, titles, fans):
    fig, axes = plt.subplots(1, len(titles), figsize=(8.6, 3.6), sharey=True, layout="constrained")
    names = [n for n in fans if n in SHOWN]
    for i, (axis, title) in enumerate(zip(axes, titles)):
        for k, name in enumerate(names):
            ranges, n_regions, rows = fans[name][i]
            axis.barh(k - 0.2, ranges, 0.38, color=SHOWN[name])
            axis.barh(k + 0.2, n_regions, 0.38, color=SHOWN[name], alpha=0.45)
        axis.set(xscale="log", xlim=(0.7, 3e4), xlabel="number (log scale)")
        axis.set_title(title.replace(", ", ",\n"), fontsize=9)
        axis.set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()  # all share it
    fig.suptitle("ranges of keys to scan (solid) and regions that are touched (pale)", fontsize=9)
    save(fig, folder, "fanout.svg")


def draw(folder, done, titles, fans):
    """Write spread.svg, regions.svg and fanout.svg."""
    os.makedirs(folder, exist_ok=True)
    spread(folder, done)
    regions(folder, done)
    fan_out(folder, titles, fans)
