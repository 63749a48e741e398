"""Shows verbs in the API reference: griffe sees ``recall, arecall = faces(_recall)`` as two attributes without a signature."""

from __future__ import annotations

from typing import Any

from griffe import Attribute, Class, ExprCall, Extension, Function, Parameters

OWN = 2
"""Parameters that a flow has and its faces have not: ``self`` stays, the runner goes."""


class Verbs(Extension):
    """Gives both faces of a verb the signature and the docstring of their flow."""

    def on_class_members(self, *, cls: Class, **_: Any) -> None:
        """Replace attributes made by ``faces`` with functions."""
        for name, member in list(cls.members.items()):
            flow = cls.members.get(_flow(member))
            if isinstance(flow, Function):
                cls.set_member(name, _face(name, flow))


def _flow(member: Any) -> str:
    """The name of the coroutine that a member is a face of, or nothing."""
    call = member.value if isinstance(member, Attribute) else None
    if not isinstance(call, ExprCall) or str(call.function) != "faces":
        return ""
    return str(call.arguments[0])


def _face(name: str, flow: Function) -> Function:
    parameters = list(flow.parameters)
    face = Function(
        name,
        lineno=flow.lineno,
        endlineno=flow.endlineno,
        parameters=Parameters(parameters[0], *parameters[OWN:]),
        returns=flow.returns,
        docstring=flow.docstring,
        parent=flow.parent,
    )
    if name == "a" + flow.name.lstrip("_"):
        face.labels.add("async")
    return face
