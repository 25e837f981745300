"""Where the devel image comes from: the first of several places that names one; pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import yaml
from msgspec.structs import replace

from presubmit.container.devcontainer import Devcontainer, parse_devcontainer
from presubmit.container.options import Options, split_options
from presubmit.errors import ConfigError
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    ReadFile = Callable[[str], str | None]

_DEVCONTAINERS: Final = (".devcontainer/devcontainer.json", ".devcontainer.json")
_VARIANTS: Final = (".devcontainer/cpu/devcontainer.json", ".devcontainer/cuda/devcontainer.json")


class ImageChoice(Value, frozen=True):
    """The image that was chosen: `image` (a name), or `dockerfile` (to build), or neither."""

    image: str = ""
    dockerfile: str = ""
    """Relative to the repository, as is `context`."""
    context: str = "."
    target: str = ""
    args: dict[str, str] = {}
    origin: str = ""
    """What named it: `--image`, `config …`, or `file:line …`."""
    env: dict[str, str] = {}
    remote_user: str = ""
    """Whom a devcontainer would run as; presubmit runs as the caller and only says so."""
    options: Options = Options()
    notes: tuple[str, ...] = ()
    """What was not static, not supported or refused on the way."""
    others: tuple[str, ...] = ()
    """Further places that name an image, `name (origin)`; the first one wins."""
    looked: tuple[str, ...] = ()
    """Where an image was looked for, in order."""

    @property
    def found(self) -> bool:
        """Whether any place named one."""
        return bool(self.image or self.dockerfile)


def find_image(
    *,
    cli: str | None,
    config_image: str | None,
    config_dockerfile: str | None,
    read_file: ReadFile,
    list_workflows: Callable[[], Sequence[str]],
    gpu: bool = False,
) -> ImageChoice:
    """Choose the image: command line, config, the workflows' job containers, devcontainer.json.

    `read_file` gives a file of the repository by its path, None where there is none; `gpu` chooses among a
    devcontainer's variants. With nothing found, `looked` says where.
    """
    looked = ["--image", "config container.image", "config container.dockerfile"]
    notes: list[str] = []
    choices: list[ImageChoice] = []
    if cli:
        choices.append(ImageChoice(image=cli, origin="--image"))
    if config_image:
        choices.append(ImageChoice(image=config_image, origin="config container.image"))
    if config_dockerfile:
        choices.append(
            ImageChoice(dockerfile=config_dockerfile, origin="config container.dockerfile")
        )
    for path in list_workflows():
        looked.append(f"{path} jobs.*.container")
        found, said = workflow_images(read_file(path) or "", path=path)
        choices += found
        notes += said
    for path in _devcontainers(gpu=gpu):
        looked.append(path)
        if (text := read_file(path)) is None:
            continue
        if (choice := _devcontainer_choice(text, path=path, gpu=gpu, notes=notes)) is not None:
            choices.append(choice)
            break
    if not choices:
        return ImageChoice(notes=tuple(notes), looked=tuple(looked))
    first = choices[0]
    return replace(
        first,
        # Remarks on places that did not come to be used would only distract.
        notes=first.notes if first.origin in looked[:3] else (*notes, *first.notes),
        others=_others(choices),
        looked=tuple(looked),
    )


def workflow_images(text: str, *, path: str) -> tuple[tuple[ImageChoice, ...], tuple[str, ...]]:
    """Give the images of a workflow's job containers, and what was found that is not static."""
    choices: list[ImageChoice] = []
    notes: list[str] = []
    for job, node in _job_containers(text):
        image = node if isinstance(node, yaml.ScalarNode) else _child(node, "image")
        if not isinstance(image, yaml.ScalarNode) or not image.value.strip():
            continue
        origin = f"{path}:{image.start_mark.line + 1} jobs.{job}.container"
        if "${{" in image.value:
            notes.append(f"{origin}: the image {image.value} is not static; name it in the config")
            continue
        options, refused = _container_options(node, origin=origin)
        name = image.value.strip().removeprefix("docker://")
        choices.append(ImageChoice(image=name, origin=origin, options=options, notes=refused))
    return tuple(choices), tuple(notes)


def _job_containers(text: str) -> Iterator[tuple[str, yaml.Node]]:
    """Give each job's `container` node; nodes know their lines. A file that is not YAML has none."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, ValueError, RecursionError):
        return
    jobs = _child(root, "jobs")
    if not isinstance(jobs, yaml.MappingNode):
        return
    for key, job in jobs.value:
        container = _child(job, "container")
        if container is not None:
            yield str(key.value), container


def _child(node: yaml.Node | None, key: str) -> yaml.Node | None:
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs: list[tuple[yaml.Node, yaml.Node]] = node.value
    return next((value for name, value in pairs if name.value == key), None)


def _container_options(node: yaml.Node, *, origin: str) -> tuple[Options, tuple[str, ...]]:
    options = _child(node, "options")
    if not isinstance(options, yaml.ScalarNode) or not options.value.strip():
        return Options(), ()
    if "${{" in options.value:
        return Options(), (
            f"{origin}: the options {options.value} are not static, and are left out",
        )
    try:
        return split_options(str(options.value), origin=origin)
    except ConfigError as error:
        return Options(), (str(error),)


def _devcontainers(*, gpu: bool) -> tuple[str, ...]:
    return (*_DEVCONTAINERS, *(reversed(_VARIANTS) if gpu else _VARIANTS))


def _devcontainer_choice(
    text: str, *, path: str, gpu: bool, notes: list[str]
) -> ImageChoice | None:
    """Give what a devcontainer.json names; None, with a note, where it names nothing that can be used."""
    try:
        found = parse_devcontainer(text, path=path)
    except ConfigError as error:
        notes.append(str(error))
        return None
    if not found.image and not found.dockerfile:
        notes += [*found.notes, f"{path} names no image and no Dockerfile"]
        return None
    if "${" in found.image:
        notes.append(
            f"{path}:{found.line}: the image {found.image} is not static; name it in the config"
        )
        return None
    return ImageChoice(
        image=found.image,
        dockerfile="" if found.image else found.dockerfile,
        context=found.context,
        target=found.target,
        args=found.args,
        origin=f"{path}:{found.line}",
        env=found.env,
        remote_user=found.remote_user,
        options=found.options if gpu else replace(found.options, gpus=""),
        notes=(*found.notes, *_remarks(found, gpu=gpu)),
    )


def _remarks(found: Devcontainer, *, gpu: bool) -> Iterator[str]:
    if found.remote_user:
        yield f"{found.path}: remoteUser {found.remote_user} is not used; a box runs as the caller"
    if found.options.gpus and not gpu:
        yield f"{found.path}: asks for GPUs ({found.options.gpus}), and there is none here"
    if found.path in _VARIANTS:
        yield f"{found.path} was taken of the variants cpu and cuda"


def _others(choices: Sequence[ImageChoice]) -> tuple[str, ...]:
    """Name the places that lost, each image once."""
    first = choices[0]
    seen = {first.image or first.dockerfile}
    found = []
    for choice in choices[1:]:
        name = choice.image or choice.dockerfile
        if name not in seen:
            seen.add(name)
            found.append(f"{name} ({choice.origin})")
    return tuple(found)
