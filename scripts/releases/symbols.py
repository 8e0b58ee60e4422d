# SPDX-License-Identifier: Apache-2.0
"""The classes and functions of a Python file, each with a hash of what it does.

Docstrings, comments, annotations and layout do not count: two sources with one hash run alike as far as this file goes.
"""
import ast
import hashlib
import pathlib
from typing import Dict, NamedTuple

MODULE = "<module>"  # what a file does outside its classes and functions: constants, tables


class Symbol(NamedTuple):
    digest: str  # eight hexadecimal digits
    text: str    # the normalised source, for a diff


class _Bare(ast.NodeTransformer):
    """Drops what has no effect when the code runs."""

    def _body(self, node):
        self.generic_visit(node)
        first = node.body[0] if node.body else None
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]
        return node

    def _function(self, node):
        node.returns = None
        return self._body(node)

    visit_FunctionDef = visit_AsyncFunctionDef = _function
    visit_ClassDef = visit_Module = _body

    def visit_arg(self, node):
        node.annotation = None
        return node

    def visit_AnnAssign(self, node):
        self.generic_visit(node)
        if node.value is None:
            return None
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def _symbol(nodes) -> Symbol:
    text = "\n".join(ast.unparse(ast.fix_missing_locations(node)) for node in nodes)
    return Symbol(hashlib.sha256(text.encode()).hexdigest()[:8], text)


def symbols_of(path: pathlib.Path) -> Dict[str, Symbol]:
    """Every top-level class and function of the file by its name, and the rest under "<module>". Raises SyntaxError."""
    tree = _Bare().visit(ast.parse(path.read_text(encoding="utf-8"), str(path)))
    named, rest = {}, []
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            named.setdefault(node.name, []).append(node)
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):
            rest.append(node)
    symbols = {name: _symbol(nodes) for name, nodes in named.items()}
    if rest:
        symbols[MODULE] = _symbol(rest)
    return symbols
