"""Wrong usage: one line with exit code 2 that names the invalid argument.

The command line library has a sentence of its own for each kind of fault; here each of them becomes what the
commands print for the faults that they find themselves: `strider: --option: what is wrong`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import typer
from typer.core import TyperGroup, TyperOption

from strider.runtime.settings.loader import validation_message

from .arguments import closest, unknown_name
from .exit_codes import CommandExit
from .output import fail

_UsageError: Final[Any] = typer.BadParameter.__mro__[1]
"""Base class of all faults of a command line; the library exports one subclass only."""

_NUMBER_KINDS: Final = {"int_parsing": "an integer", "float_parsing": "a number"}
_BOUNDS: Final = {
    "less_than_equal": "le",
    "greater_than_equal": "ge",
    "less_than": "lt",
    "greater_than": "gt",
}


@contextmanager
def reported_usage() -> Iterator[None]:
    """End the command with one line and exit code 2 for an invalid argument."""
    try:
        yield
    except _UsageError as wrong:
        if type(wrong).__name__ == "NoArgsIsHelpError":
            raise
        fail(usage_text(wrong), CommandExit.USAGE)


def usage_text(wrong: Any) -> str:
    """Return the sentence for a fault of the command line."""
    ctx = wrong.ctx
    hint = f"; see: {ctx.command_path.replace('root', 'strider', 1)} --help" if ctx is not None else ""
    param = getattr(wrong, "param", None)
    if type(wrong).__name__ == "MissingParameter":
        return f"{_param_name(param)} is missing{hint}"
    if param is not None:
        return f"{_param_name(param)}: {_value_fault(wrong, param)}"
    if option := getattr(wrong, "option_name", ""):
        return _option_fault(wrong, option) + hint
    if (
        ctx is not None
        and isinstance(ctx.command, TyperGroup)
        and wrong.message.startswith("No such command")
    ):
        name = wrong.message.split("'")[1] if "'" in wrong.message else ""
        return unknown_name("command", name, ctx.command.commands)
    return f"{wrong.message[:1].lower()}{wrong.message[1:].rstrip('.')}{hint}"


def _option_fault(wrong: Any, option: str) -> str:
    if not hasattr(wrong, "possibilities"):
        return f"{option} needs a value"
    known = [name for param in wrong.ctx.command.params for name in param.opts] if wrong.ctx else []
    near = closest(option, [*(wrong.possibilities or ()), *known])
    return f"no option {option!r}" + (f"; did you mean {near}?" if near else "")


def _param_name(param: Any) -> str:
    """Return an option as it is typed in full, or an argument as the usage line names it."""
    if param.param_type_name == "option":
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name.upper())


def _value_fault(wrong: Any, param: Any) -> str:
    """Return what is wrong with a value: the reason is that of the library that validated it."""
    problems: Sequence[Any] = getattr(wrong.__cause__, "errors", list)()
    if not problems:
        return str(wrong.message).rstrip(".")
    problem, context = problems[0], problems[0].get("ctx", {})
    value, kind = problem.get("input"), problem["type"]
    if kind in _NUMBER_KINDS:
        return f"{value!r} is not {_NUMBER_KINDS[kind]}"
    if kind in _BOUNDS and _BOUNDS[kind] in context and "nan" not in str(value).lower():
        return f"{value} is out of range, expected {_expected_range(param, kind, context)}"
    return validation_message(problem)


def _expected_range(param: Any, kind: str, context: Any) -> str:
    """Return the range of an option; of an open one the bound that was crossed."""
    declared = param.type_descriptor.parameter_info
    if declared.min is not None and declared.max is not None:
        return f"{_number_text(declared.min)} to {_number_text(declared.max)}"
    return f"at {'least' if kind.startswith('greater') else 'most'} {_number_text(context[_BOUNDS[kind]])}"


def _number_text(number: float) -> str:
    return str(int(number)) if number == int(number) else str(number)


def refuse_empty_values(command: Any) -> None:
    """Refuse an empty value of any option: most often it is a variable of a script that is not set."""
    for param in command.params:
        if isinstance(param, TyperOption) and not param.is_flag:
            _refuse_empty(param)
    for inner in getattr(command, "commands", {}).values():
        refuse_empty_values(inner)


def _refuse_empty(param: Any) -> None:
    process = param.process_value

    def process_value(ctx: Any, value: Any) -> Any:
        values = value if isinstance(value, list | tuple) else (value,)
        source = ctx.get_parameter_source(param.name or "")
        is_typed = source is None or source.name == "COMMANDLINE"
        if is_typed and any(isinstance(each, str) and not each.strip() for each in values):
            raise typer.BadParameter("is empty; give a value, or leave the option out", ctx=ctx, param=param)
        return process(ctx, value)

    param.process_value = process_value
