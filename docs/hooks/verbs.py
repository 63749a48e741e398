"""Shows verbs in the API reference as they are called: griffe sees a coroutine that takes a runner, without its twin.

A verb is a flow under ``@verb``, with ``arecall = recall.twin``; in adapters ``recall, arecall = faces(_recall)``.
"""

from __future__ import annotations

import ast
from typing import Any

from griffe import Class, Docstring, Extension, Function, Parameters

OWN = 2
"""Parameters that a flow begins with: ``self``, which its faces have too, and the runner, which they have not."""


class Verbs(Extension):
    """Gives a class both faces of each verb, with the signature and the docstring of the flow."""

    def on_class_members(self, *, node: Any, cls: Class, **_: Any) -> None:
        """Read what the class assigns."""
        for statement in ast.walk(node) if isinstance(node, ast.ClassDef) else ():
            match statement:
                case ast.Assign(
                    targets=[ast.Tuple(elts=[ast.Name(face), ast.Name(twin)])],
                    value=ast.Call(func=ast.Name("faces"), args=[ast.Name(flow), *_]),
                ):
                    pass
                case ast.Assign(targets=[ast.Name(twin)], value=ast.Attribute(ast.Name(face), "twin")):
                    flow = face
                case _:
                    continue
            if isinstance(found := cls.members.get(flow), Function):
                cls.set_member(face, _face(face, found))
                cls.set_member(twin, _face(twin, found, twin_of=face))


def _face(name: str, flow: Function, twin_of: str = "") -> Function:
    parameters = list(flow.parameters)
    face = Function(
        name,
        lineno=flow.lineno,
        endlineno=flow.endlineno,
        parameters=Parameters(parameters[0], *parameters[OWN:]),
        returns=flow.returns,
        docstring=Docstring(f"The async twin of `{twin_of}`.") if twin_of else flow.docstring,
    )
    face.labels.update({"async"} if twin_of else ())
    return face
