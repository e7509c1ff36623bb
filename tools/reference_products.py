"""Matrix products for reference_layer.py: activations as 12-bit integers against quantized rows, and float rows."""

import operator

from reference_numbers import add_tiles, fma, narrow, padded

SEGMENT, GROUP, HALF = 256, 32, 16  # inputs


def dot(a, b):
    return sum(map(operator.mul, a, b))


def quantize(x):
    """The integers of a row, and the factor of each segment."""
    integers, factors = [], []
    for first in range(0, len(x), SEGMENT):
        segment = x[first : first + SEGMENT]
        most = max(map(abs, segment))
        inverse, factor = (narrow(2032.0 / most), narrow(most / 2032.0)) if most >= 2.0**-90 else (0.0, 0.0)
        integers += [round(narrow(value * inverse)) for value in segment]
        factors.append(factor)
    return integers, factors


def quantized_product(row, integers, factors):
    y = 0.0
    for s, factor in enumerate(factors):
        first, last = s * SEGMENT, min(s * SEGMENT + SEGMENT, len(integers))
        if row.d:
            total = 0
            for i in range(first, last, HALF):
                total += row.scales[i // HALF] * dot(row.codes[i : i + HALF], integers[i : i + HALF])
            p = narrow(narrow(total) * row.d[s])
        else:
            p = 0.0
            for i in range(first, last, GROUP):
                p = fma(narrow(dot(row.codes[i : i + GROUP], integers[i : i + GROUP])), row.scales[i // GROUP], p)
                if row.minima:
                    p = fma(narrow(sum(integers[i : i + GROUP])), row.minima[i // GROUP], p)
        y = fma(p, factor, y)
    return y


def product(model, name, x):
    """A matrix times one row of activations."""
    rows = [model.row(name, i) for i in range(model.tensors[name][0][1])]
    if rows[0].values:
        return [add_tiles(0.0, padded(row.values), padded(x)) for row in rows]
    integers, factors = quantize(x)
    return [quantized_product(row, integers, factors) for row in rows]
