"""Which image a run uses: named by the base's files or the user, found in the engine, never pulled by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from presubmit.change.repository import repository_id
from presubmit.container.image import ImageChoice, find_image
from presubmit.errors import ConfigError, ImageError

if TYPE_CHECKING:
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.reading import Reading
    from presubmit.trees import TreeReader

CONTEXT_LABEL: Final = "dev.presubmit.context"


def choose(reading: Reading, *, cli: str | None, trust_head: bool) -> ImageChoice:
    """Choose the image by the base's files; raises ConfigError where head's would choose otherwise.

    `trust_head` takes head's. What the user's own config or the command line names is taken as it is.
    """
    head = _choice(reading, reading.head_reader, cli)
    base = _choice(reading, reading.base_reader, cli)
    if trust_head:
        return head
    if _identity(reading.head_reader, head) != _identity(reading.base_reader, base):
        raise ConfigError(
            "this change alters which image it would be tested in:\n"
            f"  {_shown(base)} on the base -> {_shown(head)}",
            hint="read the difference; then run again with --trust-head, or name an image with --image",
        )
    return base


def _choice(reading: Reading, reader: TreeReader, cli: str | None) -> ImageChoice:
    container = reading.config.config.container
    return find_image(
        cli=cli,
        config_image=container.image or None,
        config_dockerfile=container.dockerfile or None,
        read_file=reader.text,
        list_workflows=lambda: tuple(
            path
            for path in sorted(reader.blobs)
            if path.startswith(".github/workflows/") and path.endswith((".yml", ".yaml"))
        ),
    )


def _identity(reader: TreeReader, choice: ImageChoice) -> tuple[object, ...]:
    dockerfile = reader.blobs.get(choice.dockerfile, "") if choice.dockerfile else ""
    return (
        choice.image,
        choice.dockerfile,
        dockerfile,
        choice.target,
        tuple(sorted(choice.args.items())),
        tuple(sorted(choice.env.items())),
        choice.options,
    )


def _shown(choice: ImageChoice) -> str:
    if not choice.found:
        return "none"
    what = choice.image or f"Dockerfile {choice.dockerfile}"
    return f"{what} ({choice.origin})"


def own_tag(reading: Reading) -> str:
    """Name the image that `presubmit image build` makes for this repository."""
    return f"presubmit/{repository_id(reading.change.common_dir).lower()}:devel"


def resolve(
    reading: Reading, choice: ImageChoice, engine: Engine, *, pull: bool = False
) -> tuple[ImageRef, tuple[str, ...]]:
    """Find the chosen image in the engine: (image, notes). Raises ImageError with the command that mends it."""
    if choice.image:
        try:
            return engine.image(choice.image, origin=choice.origin), choice.notes
        except ImageError:
            if not pull:
                raise
            return engine.pull(choice.image, origin=choice.origin), choice.notes
    tag = own_tag(reading)
    origin = choice.origin or "presubmit image build"
    try:
        image = engine.image(tag, origin=origin)
    except ImageError as error:
        if choice.dockerfile:
            raise ImageError(
                f"the image of {choice.dockerfile} ({choice.origin}) is not built yet",
                hint="presubmit image build",
            ) from error
        looked = ", ".join(choice.looked)
        raise ImageError(
            f"no image to test in: looked for {looked}",
            hint="build a default one with `presubmit image build`, name one with --image, "
            "or test on this host with --no-container",
        ) from error
    notes = list(choice.notes)
    built_from = engine.image_label(image, CONTEXT_LABEL)
    wanted = reading.base_reader.blobs.get(choice.dockerfile, "")
    if choice.dockerfile and built_from not in {wanted, None, ""}:
        notes.append(f"the image is from an older {choice.dockerfile}: presubmit image build")
    return image, tuple(notes)
