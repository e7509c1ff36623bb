"""Two sides measured in turn, as numbers."""

import statistics


def compare(ours, theirs):
    """Medians of both sides, the ratio of the medians, and the least and largest ratio of a pair measured together."""
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} and {len(theirs)} measurements, wanted pairs")
    pairs = [a / b for a, b in zip(ours, theirs)]
    return {
        "hearth": statistics.median(ours),
        "llama_cpp": statistics.median(theirs),
        "ratio": statistics.median(ours) / statistics.median(theirs),
        "ratio_min": min(pairs),
        "ratio_max": max(pairs),
    }


def table(rows):
    """Lines for a person; `rows` are (name of a measure, what `compare` gives)."""
    lines = [f"{'measure':<24} {'hearth':>10} {'llama.cpp':>10} {'ratio':>7}  pairs"]
    for name, row in rows:
        lines.append(
            f"{name:<24} {row['hearth']:>10.1f} {row['llama_cpp']:>10.1f} {row['ratio']:>7.2f}"
            f"  {row['ratio_min']:.2f} to {row['ratio_max']:.2f}"
        )
    return lines
