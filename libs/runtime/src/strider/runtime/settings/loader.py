"""Settings loader: values from file and environment, and everything that is wrong with them.

Layers, the later ones winning: the class's defaults, the file that `STRIDER_CONFIG` names (YAML or TOML, one
table per area), the environment, in which `NAME_FILE` gives the file that holds the value of `NAME`. The
environment is an argument. All problems are reported at once, a line each, with the variable's name and never
with a secret value; pydantic's messages are reworded for people here alone.
"""

from __future__ import annotations

import ast
import difflib
import inspect
import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from types import MappingProxyType
from typing import Any, Final, Generic, NamedTuple, TypeVar

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from .base import ServiceSettings, SettingsArea
from .types import EnvironmentVariable, RequiredAddress

_PREFIXES: Final = ("Value error, ", "Assertion failed, ", "Input ")
_BOUND_PROBLEMS: Final = frozenset({"less_than", "less_than_equal", "greater_than", "greater_than_equal"})
"""Problems with a number that was parsed; NaN fails the first one that is checked."""


def validation_message(problem: Mapping[str, Any]) -> str:
    """Return one of a ValidationError's `errors()` as one line."""
    value = problem.get("input")
    if problem.get("type") in _BOUND_PROBLEMS and isinstance(value, str | float) and _is_nan(str(value)):
        return f"must be a number, which {value} is not"
    return strip_prefixes(str(problem["msg"]))


def _is_nan(text: str) -> bool:
    return text.strip().lstrip("+-").lower() == "nan"


def strip_prefixes(message: str) -> str:
    """Return a message without pydantic's prefix."""
    text = " ".join(message.split())
    for prefix in _PREFIXES:
        text = text.removeprefix(prefix)
    return text


S = TypeVar("S", bound=ServiceSettings)

CONFIG_VARIABLE: Final = "STRIDER_CONFIG"

COMMAND_VARIABLES: Final = MappingProxyType(
    {
        CONFIG_VARIABLE: "Settings file, YAML or TOML, one table per area; the environment wins over it.",
        "STRIDER_HOME": "Folder of the local stack's data, logs and state, instead of .strider.",
        "STRIDER_CACHE": "Folder of the local stack's downloads, shared by checkouts.",
        "STRIDER_JARS_URL": "URL of the Java archives for the local stack, instead of the public one.",
        "STRIDER_REDIS_MEMORY_MB": "Memory of the local stack's Valkey in MB (1024): its maxmemory.",
        "STRIDER_API_PORT": "Port of the API in the local stack.",
        "STRIDER_API_URL": "The API that `strider jobs` and `scheduler` use, instead of the local stack's.",
        "STRIDER_API_CLIENT_TOKEN": "Token that these commands send to the API.",
    }
)
"""Variables of the command that look like settings of a service: no process may refuse them."""


SHARED_PREFIXES: Final = (
    "KAFKA_",
    "POSTGRES_",
    "REDIS_",
    "OBJECT_STORE_",
    "SCHEMA_REGISTRY_",
)
"""Prefixes that our settings have in common with those of other programs."""

OTHER_SERVICES_PREFIXES: Final = ("STRIDER_API_", "STRIDER_HEADERS_", "STRIDER_OWNER_", "STRIDER_SEEDS_")
"""Prefixes of settings that not every service has: the others ignore them, since all may share one file."""

OTHER_SERVICES_AREAS: Final = ("auth", "headers", "owner", "seeds")
"""Areas that not every service has; the others ignore their tables, for the same reason."""

MISSPELLING_CUTOFF: Final = 0.9
"""Similarity from which a name is a misspelt setting: KAFKA_BOOTSTRAP_SERVER is, POSTGRES_DB is not."""


class SettingsError(Exception):
    """Settings that no process may start with; each of `problems` is one line that names a variable."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting: its variable, and its place in the settings and in the settings file."""

    variable: str
    area: str
    field: str
    info: FieldInfo
    owner: type[SettingsArea | ServiceSettings]

    @property
    def description(self) -> str:
        """Its description on one line."""
        return field_description(self.owner, self.field)


@dataclass(frozen=True, slots=True)
class LoadedSettings(Generic[S]):
    """Settings, and the origin of each variable's value."""

    settings: S
    origins: Mapping[str, str]
    """Variable → `default`, `environment`, or the path of a file."""


def setting_fields(settings_class: type[ServiceSettings]) -> Iterator[SettingField]:
    """Yield every setting of a service: those of the areas first, then its own."""
    own = settings_class.PREFIX.lower().rstrip("_")
    for name, info in settings_class.model_fields.items():
        kind = info.annotation
        if isinstance(kind, type) and issubclass(kind, SettingsArea):
            for field, inner in kind.model_fields.items():
                yield SettingField(_variable(kind.PREFIX, field, inner), name, field, inner, kind)
        else:
            yield SettingField(_variable(settings_class.PREFIX, name, info), own, name, info, settings_class)


def _variable(prefix: str, field: str, info: FieldInfo) -> str:
    for mark in info.metadata:
        if isinstance(mark, EnvironmentVariable):
            return mark.name
    return prefix + field.upper()


def load_settings(
    settings_class: type[S], environ: Mapping[str, str], *, requires_addresses: bool = False
) -> LoadedSettings[S]:
    """Merge the layers and build the settings; raise SettingsError with everything that is wrong.

    A process that `requires_addresses` refuses an empty address, where it would wait at the default's for
    ever.
    """
    reader = _SettingsReader(settings_class, environ)
    layers = (reader.config_file(), reader.environment())
    values = {variable: found for layer in layers for variable, found in layer.items()}
    if requires_addresses:
        reader.problems += reader.empty_addresses(values)
    origins = {setting.variable: "default" for setting in reader.fields}
    origins |= {variable: found.origin for variable, found in values.items()}
    try:
        settings = settings_class(**reader.nested(values))
    except ValidationError as error:
        reader.problems += [reader.describe(problem, origins) for problem in error.errors()]
    if reader.problems:
        raise SettingsError(reader.problems)
    return LoadedSettings(settings, MappingProxyType(origins))


class _SourcedValue(NamedTuple):
    value: Any
    origin: str


class _SettingsReader:
    """One reading of the layers, and the problems found."""

    def __init__(self, settings_class: type[ServiceSettings], environ: Mapping[str, str]) -> None:
        self.fields = tuple(setting_fields(settings_class))
        self.problems: list[str] = []
        self._class = settings_class
        self._environ = environ
        self._names = {setting.variable for setting in self.fields}

    def environment(self) -> dict[str, _SourcedValue]:
        """Return the environment's values by variable. An empty variable counts as one that is not set."""
        found: dict[str, _SourcedValue] = {}
        for variable in self._names:
            in_file = f"{variable}_FILE"
            direct = self._environ.get(variable, "")
            path = "" if in_file in self._names else self._environ.get(in_file, "")
            if direct and path:
                self.problems.append(f"{variable}: set twice, as {variable} and as {in_file}; keep one")
            elif direct:
                found[variable] = _SourcedValue(direct, "environment")
            elif path and (text := self._text_of(in_file, path)) is not None:
                found[variable] = _SourcedValue(text.rstrip("\r\n"), path)
        self.problems += self._unknown_variables()
        return found

    def empty_addresses(self, values: Container[str]) -> Iterator[str]:
        """Yield a problem for each address that is set to nothing, often by an unset variable of a script."""
        for setting in self.fields:
            is_empty = setting.variable not in values and self._environ.get(setting.variable) == ""
            if is_empty and any(isinstance(mark, RequiredAddress) for mark in setting.info.metadata):
                yield f"{setting.variable}: is set and empty; name an address, or unset it for the default"

    def config_file(self) -> dict[str, _SourcedValue]:
        """Return the settings file's values by variable, if a file is named."""
        path = self._environ.get(CONFIG_VARIABLE, "")
        if not path or (text := self._text_of(CONFIG_VARIABLE, path)) is None:
            return {}
        try:
            tables = _parse_config(text, is_toml=path.endswith(".toml"))
        except (ValueError, yaml.YAMLError) as error:
            self.problems.append(f"{CONFIG_VARIABLE}: cannot read {path}: {_cause(error)}")
            return {}
        own = self._class.PREFIX.lower().rstrip("_")
        services = tables.pop("services", None) or {}
        if isinstance(services, dict) and own in services:
            tables[own] = services[own]
        return {
            variable: _SourcedValue(value, path)
            for area, table in tables.items()
            for variable, value in self._table(area, table, path=path)
        }

    def _table(self, area: str, table: object, *, path: str) -> Iterator[tuple[str, Any]]:
        variables = {setting.field: setting.variable for setting in self.fields if setting.area == area}
        if not variables and area in OTHER_SERVICES_AREAS:
            return
        if not isinstance(table, dict) or not variables:
            areas = sorted({setting.area for setting in self.fields})
            self.problems.append(f"{path}: {area} is no table of settings; there are {', '.join(areas)}")
            return
        for field, value in table.items():
            if field not in variables:
                self.problems.append(
                    f"{path}: there is no setting {area}.{field}{_suggestion(str(field), variables)}"
                )
            elif value is not None:
                yield variables[field], value

    def nested(self, values: Mapping[str, _SourcedValue]) -> dict[str, Any]:
        """Arrange values as the settings class takes them: own ones flat, the others below their area."""
        tree: dict[str, Any] = {}
        for setting in self.fields:
            if setting.variable in values:
                inside = tree if setting.owner is self._class else tree.setdefault(setting.area, {})
                inside[setting.field] = values[setting.variable].value
        return tree

    def describe(self, problem: Mapping[str, Any], origins: Mapping[str, str]) -> str:
        """Return the line for one of pydantic's problems."""
        place = tuple(str(part) for part in problem["loc"])
        message = validation_message(problem)
        for setting in self.fields:
            here = (setting.field,) if setting.owner is self._class else (setting.area, setting.field)
            if place[: len(here)] != here:
                continue
            if problem["type"] == "missing":
                return f"{setting.variable}: must be set: {setting.description}"
            return f"{setting.variable}: {message} (from {origins[setting.variable]})"
        return message

    def _text_of(self, variable: str, path: str) -> str | None:
        try:
            return Path(path).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            self.problems.append(f"{variable}: cannot read {path}: {_cause(error)}")
            return None

    def _unknown_variables(self) -> Iterator[str]:
        """Yield a problem for each variable that looks like ours and is none: most often a typing error.

        Other programs have variables of the shared prefixes too (KAFKA_HOME), so there only names that are
        nearly those of a setting count.
        """
        prefixes = tuple(prefix for prefix in ("STRIDER_", self._class.PREFIX) if prefix)
        known = self._names | COMMAND_VARIABLES.keys()
        own = {self._class.PREFIX, *(setting.owner.PREFIX for setting in self.fields)}
        others = tuple(prefix for prefix in OTHER_SERVICES_PREFIXES if prefix not in own)
        for variable in sorted(self._environ):
            is_known = variable in known or variable.removesuffix("_FILE") in self._names
            if is_known or variable.startswith(others):
                continue
            if variable.startswith(prefixes):
                yield f"{variable}: there is no such setting{_suggestion(variable, known)}"
            elif variable.startswith(SHARED_PREFIXES) and (meant := self._misspelt_setting(variable)):
                yield f"{variable}: there is no such setting; did you mean {meant}?"

    def _misspelt_setting(self, variable: str) -> str:
        """Return the setting whose name differs by a letter or so; empty for none."""
        for name in (variable, variable.removesuffix("_FILE")):
            if close := difflib.get_close_matches(name, sorted(self._names), n=1, cutoff=MISSPELLING_CUTOFF):
                return close[0]
        return ""


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {close[0]}?" if close else ""


def _parse_config(text: str, *, is_toml: bool) -> dict[str, Any]:
    tables = tomllib.loads(text) if is_toml else (yaml.safe_load(text) or {})
    if not isinstance(tables, dict):
        raise ValueError("it must hold one table per area")  # noqa: TRY004  # the reader's, not the caller's mistake
    return tables


def _cause(error: Exception) -> str:
    text = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return " ".join(text.split())


def field_description(owner: type, field: str) -> str:
    """Return the sentence below a field where its class, or a base class, declares it; on one line."""
    for declaring in owner.__mro__:
        if field in inspect.get_annotations(declaring):
            return _descriptions(declaring).get(field, "")
    return ""


@cache
def _descriptions(declaring: type) -> Mapping[str, str]:
    (body,) = ast.parse(dedent(inspect.getsource(declaring))).body
    assert isinstance(body, ast.ClassDef)
    found = {}
    for statement, below in pairwise(body.body):
        match statement, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = " ".join(text.split())
    return found
