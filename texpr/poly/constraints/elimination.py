"""Contradictions between integer constraints that substitution and rounding find, without isl.

A column with coefficient 1 in an equality is expressed by the other columns, and leaves. An
equality over digits falls apart: `16*a + b == 16*c + d` with `b` and `d` in 0..16 says that `b ==
d` and `a == c` (Goff, Kennedy and Tseng, Practical Dependence Testing, PLDI 1991, test pairs of
subscripts by such means). Sums of the same columns are compared: what is at least 1 and at most 0
has no solution. What is left has a solution exactly if the constraints have one; so a contradiction
is a proof, and its absence is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import gcd

Row = tuple[list[tuple[int, int]], int, bool]
"""Coefficients of columns, the constant, and whether the sum is 0 or at least 0."""
_Terms = dict[int, int]
"""Coefficients of columns, none of them 0."""
_Late = tuple[Iterable[tuple[int, int]], int, bool]
"""A row that is yet to come in."""
_Sum = tuple[tuple[int, int], ...]
"""Coefficients of columns, ascending, without common factor, the first of them positive."""
_Bounds = tuple[int | None, int | None]
"""The smallest and the largest value, None where there is none."""
_FREE: _Bounds = None, None
_TRIES = 4


class ReducedSystem:
    """Constraints over numbered columns after equalities were used to eliminate columns.

    Attributes:
        is_contradiction: there is no solution.
    """

    __slots__ = ("_bounds", "_forms", "_late", "_sums", "is_contradiction")

    def __init__(self, rows: Sequence[Row] = ()) -> None:
        self.is_contradiction = False
        self._forms: dict[int, tuple[_Terms, int]] = {}
        self._bounds: dict[int, _Bounds] = {}
        self._sums: dict[_Sum, _Bounds] = {}
        self._late: list[_Late] = []
        if rows:
            self._add(rows)

    def also(self, rows: Sequence[Row]) -> ReducedSystem:
        """The system with these rows added."""
        if self.is_contradiction:
            return self
        left = [(*self._reduced(terms, constant), equality) for terms, constant, equality in rows]
        new = [row for row in left if not self._is_implied(*row)]
        if not new:
            return self
        other = ReducedSystem()
        other.is_contradiction = any([self._is_excluded(terms, constant) for terms, constant, _ in new])
        if not other.is_contradiction:
            other._forms, other._bounds, other._sums = (
                self._forms.copy(),
                self._bounds.copy(),
                self._sums.copy(),
            )
            other._add([(list(terms.items()), constant, equality) for terms, constant, equality in new])
        return other

    def implies(self, row: Row) -> bool:
        """True if the bounds of the columns show that a row follows."""
        return self.is_contradiction or self._is_implied(*self._reduced(row[0], row[1]), row[2])

    def _is_implied(self, terms: _Terms, constant: int, equality: bool) -> bool:
        """True if the bounds of the remaining columns imply a row."""
        if equality:
            return not terms and constant == 0
        least = self._range(terms)[0]
        return least is not None and least + constant >= 0

    def _is_excluded(self, terms: _Terms, constant: int) -> bool:
        """True if the bounds imply the opposite of a row that they do not imply: most questions
        about order are decided so.
        """
        least, most = self._range(terms)
        return most is not None and most + constant < 0 or least is not None and least + constant > 0

    def rows(self) -> Iterator[Row]:
        """The remaining constraints, over the remaining columns. Every other column has a value
        whatever these are.
        """
        sums = [*((((column, 1),), b) for column, b in self._bounds.items()), *self._sums.items()]
        for terms, (low, high) in sums:
            if low is not None:
                yield list(terms), -low, low == high
            if high is not None and low != high:
                yield [(column, -c) for column, c in terms], high, False

    def values(self, count: int) -> Iterator[Row]:
        """The eliminated columns among the first `count`, as rows."""
        for column, (terms, constant) in self._forms.items():
            if column < count:
                yield [(column, -1), *terms.items()], constant, True

    def has_obvious_solution(self) -> bool:
        """True if a solution is found at once: each column at one of its bounds, then moved where a
        sum is too small or too large.
        """
        at = {column: low if low is not None else high or 0 for column, (low, high) in self._bounds.items()}
        at.update((column, 0) for terms in self._sums for column, _ in terms if column not in at)
        return any(
            all([self._repaired(terms, bounds, at) for terms, bounds in self._sums.items()])
            for _ in range(_TRIES)
        )

    def _repaired(self, terms: _Sum, bounds: _Bounds, at: dict[int, int]) -> bool:
        """True if a sum is within its bounds, after columns were moved as far as their bounds
        permit.
        """
        (least, most), value = bounds, sum([c * at[column] for column, c in terms])
        missing = (
            least - value
            if least is not None and value < least
            else most - value
            if most is not None and value > most
            else 0
        )
        if not missing:
            return True
        for column, c in sorted(terms, key=lambda term: self._tightness(term[0])):
            (low, high), old = self._bounds.get(column, _FREE), at[column]
            new = old - (-missing // c) if (missing > 0) == (c > 0) else old + missing // c
            new = new if low is None else max(new, low)
            at[column] = new = new if high is None else min(new, high)
            missing -= c * (new - old)
            if missing == 0 or (missing > 0) != (missing + c * (new - old) > 0):
                break
        return False

    def _add(self, rows: Iterable[Row]) -> None:
        """Add rows: bounds of columns first, then equalities, then the rest, few of which need
        rewriting then.
        """
        sums: list[_Late] = []
        equalities: list[_Late] = []
        late = self._late = []
        for given, constant, equality in rows:
            if len(given) == 1 and not equality:
                ((column, c),) = given
                if column in self._forms or not c:
                    self._at_least(*self._reduced(given, constant))
                else:
                    self._bound(column, c, constant)
            else:
                (equalities if equality else sums).append((given, constant, equality))
        late[:0] = [*reversed(sums), *reversed(equalities)]
        while late and not self.is_contradiction:
            given, constant, equality = late.pop()
            terms, constant = self._reduced(given, constant)
            if equality:
                self._equal(terms, constant)
            else:
                self._at_least(terms, constant)

    def _reduced(self, given: Iterable[tuple[int, int]], constant: int) -> tuple[_Terms, int]:
        """Rewrite a sum over the remaining columns."""
        terms: _Terms = {}
        forms = self._forms
        for column, c in given:
            if column not in forms:
                terms[column] = terms[column] + c if column in terms else c
                continue
            form, shift = forms[column]
            constant += c * shift
            for other, k in form.items():
                terms[other] = terms.get(other, 0) + c * k
        if 0 in terms.values():
            terms = {column: c for column, c in terms.items() if c}
        return terms, constant

    def _range(self, terms: _Terms) -> _Bounds:
        """The range of a sum, from the bounds of its columns."""
        least: int | None = 0
        most: int | None = 0
        for column, c in terms.items():
            low, high = self._bounds.get(column, _FREE)
            if c < 0:
                low, high = high, low
            least = None if least is None or low is None else least + c * low
            most = None if most is None or high is None else most + c * high
        return least, most

    def _at_least(self, terms: _Terms, constant: int) -> None:
        """terms + constant >= 0."""
        if len(terms) == 1:
            ((column, c),) = terms.items()
            self._bound(column, c, constant)
            return
        least, most = self._range(terms)
        if most is not None and most + constant < 0:
            self.is_contradiction = True
        if self.is_contradiction or (least is not None and least + constant >= 0):
            return
        direction, factor = _direction(terms)
        low, high = self._sums.get(direction, _FREE)
        if factor > 0:
            bound = -(constant // factor)
            if low is not None and low >= bound:
                return
            low = bound
        else:
            bound = constant // -factor
            if high is not None and high <= bound:
                return
            high = bound
        if low is not None and high is not None and low >= high:
            self.is_contradiction = low > high
            self._sums.pop(direction, None)
            self._late.append((direction, -low, True))
        else:
            self._sums[direction] = low, high

    def _bound(self, column: int, c: int, constant: int) -> None:
        """c * column + constant >= 0."""
        low, high = self._bounds.get(column, _FREE)
        if c > 0:
            bound = -(constant // c)
            if low is not None and low >= bound:
                return
            low = bound
        else:
            bound = constant // -c
            if high is not None and high <= bound:
                return
            high = bound
        if low is None or high is None or low < high:
            self._bounds[column] = low, high
            return
        self.is_contradiction = self.is_contradiction or low > high
        self._bounds.pop(column, None)
        self._late.append((((column, 1),), -low, True))

    def _equal(self, terms: _Terms, constant: int) -> None:
        """terms + constant == 0."""
        factor = gcd(*terms.values())
        if constant % factor if factor else constant:
            self.is_contradiction = True
        if self.is_contradiction or not terms:
            return
        if factor > 1:
            terms, constant = {column: c // factor for column, c in terms.items()}, constant // factor
        if self._split_digits(terms, constant):
            return
        units = [column for column, c in terms.items() if c in (1, -1)]
        if units:
            self._eliminate(min(units, key=self._tightness), terms, constant)
            return
        direction, factor = _direction(terms)
        low, high = self._sums.get(direction, _FREE)
        value = -constant // factor
        self.is_contradiction = low is not None and low > value or high is not None and high < value
        self._sums[direction] = value, value

    def _tightness(self, column: int) -> int:
        low, high = self._bounds.get(column, _FREE)
        return (low is not None) + 2 * (high is not None)

    def _split_digits(self, terms: _Terms, constant: int) -> bool:
        """Split a sum of digits: into the terms that a coefficient divides, and a rest that is
        too small to make up for them.
        """
        for base in sorted({abs(c) for c in terms.values()}):
            rest = {column: c for column, c in terms.items() if c % base}
            if not rest:
                continue
            least, most = self._range(rest)
            if least is None or most is None:
                continue
            first, last = -((most + constant) // base), -(least + constant) // base
            if first > last:
                self.is_contradiction = True
                return True
            whole = {column: c // base for column, c in terms.items() if column not in rest}
            if first == last:
                self._late += [(rest.items(), constant + base * first, True), (whole.items(), -first, True)]
                return True
            self._late += [
                (whole.items(), -first, False),
                ([(column, -c) for column, c in whole.items()], last, False),
            ]
        return False

    def _eliminate(self, column: int, terms: _Terms, constant: int) -> None:
        """Express a column of coefficient 1 or -1 by the others of an equality."""
        sign = -terms[column]
        form = {other: sign * c for other, c in terms.items() if other != column}, sign * constant
        self._forms[column] = form
        for other, (used, c) in list(self._forms.items()):
            if column in used:
                self._forms[other] = self._reduced(used.items(), c)
        self._rewrite(((column, 1),), self._bounds.pop(column, _FREE))
        for direction in [d for d in self._sums if any(c == column for c, _ in d)]:
            self._rewrite(direction, self._sums.pop(direction))

    def _rewrite(self, direction: _Sum, bounds: _Bounds) -> None:
        """Rewrite a sum with a column that was eliminated, and add it again."""
        low, high = bounds
        if low is not None:
            self._late.append((direction, -low, low == high))
        if high is not None and low != high:
            self._late.append(([(column, -c) for column, c in direction], high, False))


def _direction(terms: _Terms) -> tuple[_Sum, int]:
    """The sum without its common factor, and the factor, which is negative where the first
    coefficient was.
    """
    items = sorted(terms.items())
    factor = gcd(*terms.values())
    if items[0][1] < 0:
        factor = -factor
    return tuple(items if factor == 1 else [(column, c // factor) for column, c in items]), factor


def collect_terms(given: list[tuple[int, int]]) -> _Terms:
    """Coefficients per column; a column may occur twice."""
    sums: _Terms = {}
    for column, c in given:
        sums[column] = sums.get(column, 0) + c
    return sums
