"""Writes every generated file, or lists those that are not current: `tools/generated.py [--check]`.

One list, so that `make contracts`, the repository's tests and people mean the same files.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(Path(__file__).parent))

Render = Callable[[], dict[Path, str]]


def _contracts() -> dict[Path, str]:
    from strider.contracts import codegen  # noqa: PLC0415  # the imports below depend on its output

    return codegen.render_outputs(ROOT / "schemas")


def _requirements() -> dict[Path, str]:
    import requirements  # noqa: PLC0415  # a neighbour of this file

    return {ROOT / "docs" / "requirements.md": requirements.render()}


def _reliability() -> dict[Path, str]:
    import reliability  # noqa: PLC0415  # a neighbour of this file

    return {reliability.PAGE: reliability.render()}


def _growth() -> dict[Path, str]:
    import growth  # noqa: PLC0415  # a neighbour of this file

    return {growth.PAGE: growth.render()}


def _topic_documents() -> dict[Path, str]:
    from strider.contracts.codegen.asyncapi import render_asyncapi  # noqa: PLC0415
    from strider.contracts.codegen.markdown import render_markdown  # noqa: PLC0415
    from strider.contracts.codegen.strimzi import render_strimzi  # noqa: PLC0415
    from strider.messaging.topics import access_table, select_topics  # noqa: PLC0415

    readme, access = ROOT / "README.md", ROOT / "docs" / "operations" / "kafka-access.md"
    acls = access_table(select_topics(examples=False))
    return {
        access: between(access.read_text(encoding="utf-8"), "acls", acls),
        ROOT / "deploy" / "kafka" / "topics.yaml": render_strimzi(),
        ROOT / "docs" / "asyncapi.yaml": render_asyncapi(),
        readme: between(readme.read_text(encoding="utf-8"), "topics", render_markdown()),
    }


def _settings() -> dict[Path, str]:
    from strider.runtime.settings import help as settings_rendering  # noqa: PLC0415

    return {
        ROOT / ".env.example": settings_rendering.render_environment(settings_rendering.settings_classes())
    }


def _compose() -> dict[Path, str]:
    """The settings of each service: the variables of `.env` that reach its container."""
    from strider.runtime.settings.base import ServiceSettings  # noqa: PLC0415  # as above
    from strider.runtime.settings.help import settings_classes  # noqa: PLC0415  # as above
    from strider.runtime.settings.loader import setting_fields  # noqa: PLC0415  # as above

    def entries(known: type[ServiceSettings]) -> list[str]:
        return [f"  {setting.variable}:" for setting in setting_fields(known)]

    common = entries(ServiceSettings)
    lines = ["x-common-settings: &common-settings", *common]
    for known in settings_classes():
        name = known.__module__.split(".")[1].replace("_", "-")
        lines += ["", f"x-{name}-settings: &{name}-settings", "  <<: *common-settings"]
        lines += [entry for entry in entries(known) if entry not in common]
    file = ROOT / "docker-compose.yml"
    block = re.compile(r"(# <settings>\n).*?(# </settings>\n)", re.DOTALL)
    text = file.read_text(encoding="utf-8")
    return {file: block.sub(lambda found: found[1] + "\n".join(lines) + f"\n{found[2]}", text)}


def _processes() -> dict[Path, str]:
    import metric_pages  # noqa: PLC0415  # a neighbour of this file

    from strider.runtime.observability.metrics import metric_table  # noqa: PLC0415
    from strider.runtime.process.exit_codes import exit_table  # noqa: PLC0415

    page = ROOT / "docs" / "operations" / "processes.md"
    text = between(page.read_text(encoding="utf-8"), "exit-codes", exit_table())
    text = between(text, "metrics", metric_table())
    text = between(text, "service-metrics", metric_pages.service_table())
    return {
        page: between(text, "alerts", metric_pages.alert_table()),
        ROOT / "deploy" / "prometheus" / "alerts.yaml": metric_pages.alert_rules(),
    }


def _log_events() -> dict[Path, str]:
    import log_event_pages  # noqa: PLC0415  # a neighbour of this file

    return {log_event_pages.PAGE: log_event_pages.render()}


def _security() -> dict[Path, str]:
    import security  # noqa: PLC0415  # a neighbour of this file

    page = security.PAGE
    return {page: between(page.read_text(encoding="utf-8"), "rows", security.render_rows())}


def _jobs() -> dict[Path, str]:
    from strider.jobs import documentation  # noqa: PLC0415  # generated code comes first

    page = ROOT / "docs" / "jobs.md"
    text = between(page.read_text(encoding="utf-8"), "state-diagram", documentation.state_diagram())
    text = between(text, "states", documentation.state_table())
    return {page: between(text, "curves", documentation.curve_table())}


def _module_tables() -> dict[Path, str]:
    import module_tables  # noqa: PLC0415  # a neighbour of this file

    return {
        page: between(page.read_text(encoding="utf-8"), "modules", module_tables.table(package))
        for page, package in module_tables.readmes().items()
    }


def _spec_fields() -> dict[Path, str]:
    from strider.cli.seeds.spec_reference import reference_table  # noqa: PLC0415  # as above

    page = ROOT / "docs" / "specs.md"
    return {page: between(page.read_text(encoding="utf-8"), "spec-fields", reference_table())}


def _routes() -> dict[Path, str]:
    import routes  # noqa: PLC0415  # a neighbour of this file

    page = ROOT / "services" / "api" / "README.md"
    # The module table of the same page is written by another renderer: this one runs after it.
    return {page: between(page.read_text(encoding="utf-8"), "routes", routes.table())}


RENDERERS: tuple[Render, ...] = (
    *(
        _contracts,
        _topic_documents,
        _settings,
        _compose,
        _requirements,
        _reliability,
        _growth,
        _processes,
        _log_events,
        _security,
        _jobs,
        _module_tables,
        _spec_fields,
        _routes,
    ),
)


def between(text: str, name: str, content: str) -> str:
    """The text with what stands between `<!-- name -->` and `<!-- /name -->` replaced."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    if not pattern.search(text):
        raise SystemExit(f"the page has no place for {name}")
    return pattern.sub(lambda match: f"{match[1]}{content.strip()}\n{match[2]}", text)


def stale() -> dict[Path, str]:
    """Files that are not as they would be written now, with the difference."""
    found = {}
    for render in RENDERERS:
        for path, text in render().items():
            old = path.read_text(encoding="utf-8") if path.exists() else ""
            if old != text:
                found[path] = "".join(
                    difflib.unified_diff(old.splitlines(True), text.splitlines(True), "old", "new")
                )
    return found


def main() -> int:
    """Write or check."""
    from strider.contracts.codegen import DeclarationError  # noqa: PLC0415  # as above

    try:
        return _check() if "--check" in sys.argv[1:] else _write()
    except DeclarationError as failure:
        print(failure, file=sys.stderr)
        return 2


def _check() -> int:
    found = stale()
    for path, difference in found.items():
        print(f"{path.relative_to(ROOT)} is not current; run: make contracts\n{difference[:2000]}")
    return 1 if found else 0


def _write() -> int:
    for render in RENDERERS:
        for path, text in render().items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
