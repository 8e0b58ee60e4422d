# SPDX-License-Identifier: Apache-2.0
"""Values that steer: what a program's control flow depends on, known on the host although the device computes nothing.

Ids, masks, lengths, flags and counts come from the host and are worked on with small ops. Such a tensor has a *twin* on the host
(twins.py), as long as all that it was made of is known: the functions of torch that make and change small tensors are followed on
the twins (functions.py, names.py), those of some size only when somebody asks. A copy to the host, whoever makes it, is
answered from the twins (answers.py), and so are the reads that torch makes inside an operator, as nonzero does for its count
(operators.py). Ranks tell one another the values of small tensors (collectives.py).

What would come from weights is unknown. Of it only what must be an index or a truth is *invented* (inventions.py), counted by its
line and reported where the program acted on it. Everything here is host memory and host calls: the device's allocator sees none.
"""


def install(torch, imbalance, solo):
    """The inventions, to be asked what was invented; None where this torch's functions cannot be followed."""
    from . import answers, collectives, functions, inventions, operators, pauses, rules, twins
    book = inventions.Book(imbalance)
    known = twins.Twins(torch, book)
    by = rules.Rules(torch, known, book)
    functions.follow_all(torch, by)
    book.kept = collectives.carry_values(torch, by, solo), operators.forestall_all(torch, by)
    pauses.watch(torch, known)
    answers.give(known)
    return book
