"""The certificate of a kernel: a witness that is independent of the checks of single steps.

The final loop nest is read anew (`certificate.engine.statement_extraction`), and from it alone it
is proven that it computes the program: every store computes the instance of its equation that it
says it does (`certificate.engine.value_equality`), where reads are traced back through buffers to
the elements of the program that they hold (`certificate.engine.value_tracing`); sums have all their
terms once (`certificate.engine.reductions`); and what runs at once does not meet
(`certificate.engine.races`). What the stores say of their instances (`Store.at`) is a hint that is
checked, not believed. Nothing here uses the other proofs of `poly`, only the door to isl.

The argument is an induction over the order of execution. A definition *claims* which value of the
program its element holds from then on; the claim is proven from the claims of what it reads. All
questions are about two statements beside each other (`certificate.engine.instance_pairs`): most are
answered by intervals, the others by isl (`certificate.engine.isl_frame`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.poly.certificate.certify import Certificate, certify

__all__ = ["Certificate", "certify"]

offer_late(__name__)
