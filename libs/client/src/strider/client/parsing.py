"""Documents of responses as models."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ValidationError

from .errors import UnexpectedResponse
from .models import RemoteObject

T = TypeVar("T", bound=RemoteObject)


def parse(model: type[T], document: Any) -> T:
    """Return a document as an object. Raises UnexpectedResponse, which names the field."""
    try:
        return model.model_validate(document)
    except ValidationError as failure:
        fault = failure.errors(include_url=False)[0]
        place = ".".join(map(str, fault["loc"])) or "document"
        raise UnexpectedResponse(
            f"the API returned no {model.__name__.removeprefix('Remote').lower()}: {place}: {fault['msg']}; "
            "is it of another version?"
        ) from failure
