"""The object store of the local stack: a directory, no process."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from strider.localstack.errors import SetupFailure
from strider.localstack.process.child import make_private_directory

VARIABLE: Final = "OBJECT_STORE_URL"
LOCAL_HOSTS: Final = frozenset({"", "localhost"})


def object_store_url(directory: Path) -> str:
    """Create the directory and return its URL."""
    make_private_directory(directory)
    return directory.resolve().as_uri()


def check_object_store(url: str) -> None:
    """Check that services can use the store that the environment names.

    Raises SettingsError for an invalid URL, SetupFailure for an unusable folder.
    """
    if folder := _folder_of(url):
        _check_folder(folder)
    else:
        _check_url(url)


def _folder_of(url: str) -> Path | None:
    try:
        address = urlsplit(url)
    except ValueError:
        return None
    is_folder = address.scheme == "file" and address.netloc in LOCAL_HOSTS and address.path.startswith("/")
    return Path(unquote(address.path)) if is_folder else None


def _check_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        why = "" if os.access(folder, os.W_OK | os.X_OK) else "no permission to write there"
    except (OSError, ValueError) as failure:
        why = (failure.strerror if isinstance(failure, OSError) else None) or str(failure)
    if why:
        raise SetupFailure(
            f"{VARIABLE} names a folder that cannot be used ({folder}: {why})",
            remedy=f"get the right to write there, or unset {VARIABLE} to have one made here",
        )


def _check_url(url: str) -> None:
    # Opening connects nowhere; its libraries take a third of a second, which most commands need not wait for.
    from strider.messaging.errors import StartRefused  # noqa: PLC0415  # see above
    from strider.runtime.clocks import SystemClock  # noqa: PLC0415  # see above
    from strider.runtime.settings.loader import SettingsError  # noqa: PLC0415  # see above
    from strider.storage.objects import ObjectOptions, open_object_store  # noqa: PLC0415  # see above

    try:
        open_object_store(ObjectOptions(url=url), clock=SystemClock())
    except StartRefused as failure:
        raise SettingsError([" ".join(str(failure).split())]) from None
    except ValueError as failure:
        raise SettingsError([f"{VARIABLE} is not a valid URL ({failure})"]) from None
