"""What all cells of one tree share, and how each of them gets its workspace, its services and its container."""

from __future__ import annotations

import hashlib
import os
import threading
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from presubmit.container.host import HostBox
from presubmit.container.model import BoxMount, BoxSpec
from presubmit.container.network import host_network_settings, read_network_settings
from presubmit.container.options import parse_options
from presubmit.errors import ImageError, PresubmitError
from presubmit.replay.actions.checkout import prepared
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.outcome import file_name
from presubmit.replay.job.probe import probe, read_here, write_here
from presubmit.replay.job.service_options import read_container, read_services
from presubmit.replay.job.services import start_services
from presubmit.replay.job.values import CellAssignment, CellResult, Conclusion
from presubmit.replay.job.workspace import CONTAINER_WORK, RUNNER_WORK, open_workspace
from presubmit.replay.lanes import box_limits, passed_environment, plugin_folder
from presubmit.upstream.jobs import evaluate, number_of
from presubmit.upstream.recipes.gather import recipe_of
from presubmit.upstream.recipes.narrowing import Needs, tox_override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from presubmit.config import ContainerConfig
    from presubmit.container.engine import Engine
    from presubmit.container.model import Box, ImageRef
    from presubmit.replay.job.gitdir import Prepared
    from presubmit.replay.job.graph import Order, Stopper
    from presubmit.replay.job.launch import Launcher
    from presubmit.replay.job.service_options import ContainerWish
    from presubmit.replay.job.services import Services
    from presubmit.replay.job.sources import Sources
    from presubmit.replay.job.workspace import Workspace
    from presubmit.upstream.here import Here

TOOL_CACHE: Final = "/opt/hostedtoolcache"
_ARTIFACTS: Final = "/presubmit/artifacts"
_CACHES: Final = "/presubmit/caches"
_PLUGIN: Final = "/presubmit/plugin"
_MINUTES: Final = 360.0
"""What a job may take where it does not say (docs: jobs.<job_id>.timeout-minutes)."""


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where cells run, and what belongs to their repository there."""

    cache: Path
    """The repository's cache for this change's author."""
    repository: str
    """Labels containers and volumes."""
    name: str
    """The repository's own name, for the path of the workspace."""
    engine: Engine | None
    image: ImageRef | None
    container: ContainerConfig
    environ: Mapping[str, str]
    root: bool = False
    substitutes: Mapping[str, str] = {}
    """The user's own substitutes for actions: `owner/name` -> shell script."""
    pull: bool = False
    selection: dict[str, Any] | None = None
    """What every pytest is narrowed to; None: all tests run."""
    read: Callable[[str], str | None] = lambda _: None
    """Reads a file of the tree under test."""


def local_images(engine: Engine | None) -> Callable[[str], bool] | None:
    """Give how to ask whether an image is here; None without an engine."""
    if engine is None:
        return None

    def has(name: str) -> bool:
        try:
            engine.image(name, origin="a job of upstream")
        except ImageError:
            return False
        return True

    return has


def find_here(place: Place) -> Here:
    """Say what the devel image has (looked at once an image), or this host."""
    known = None
    # What is there depends on who looks: root has another PATH and other rights.
    identity = f"{place.image.id} {place.root}" if place.image is not None else ""
    folder = place.cache / "here"
    if identity:
        known = read_here(folder, identity)
    if known is None:
        folder.mkdir(parents=True, exist_ok=True)
        with _box(place, "probe", mounts=(), env={}, workdir="/") as box:
            known = probe(box, log=folder / "probe.log")
        if identity:
            write_here(folder, identity, known)
    return msgspec.structs.replace(known, root=place.root or known.root)


@contextmanager
def _box(
    place: Place,
    lane: str,
    *,
    mounts: Sequence[BoxMount],
    env: Mapping[str, str],
    workdir: str,
    image: ImageRef | None = None,
    network: str = "bridge",
    run: str = "",
    wish: ContainerWish | None = None,
) -> Iterator[Box]:
    if place.engine is None:
        host = HostBox(workdir=workdir if Path(workdir).is_dir() else "/", env=dict(env))
        try:
            yield host
        finally:
            host.close()
        return
    configured = parse_options(place.container.options, origin="config container.options")
    parsed = wish.options if wish is not None else configured
    root = place.root or (wish is not None and wish.user == "0:0")
    box = place.engine.start(
        BoxSpec(
            image=image or place.image,
            lane=lane,
            run=run,
            repo=place.repository,
            workdir=workdir,
            mounts=tuple(mounts),
            env={**env, **parsed.env},
            user="0:0" if root else parsed.user or place.container.user,
            network=network,
            limits=parsed.limits_over(box_limits(place.container)),
            gpus=parsed.gpus or place.container.gpus,
            profile="root" if root else place.container.profile,
        )
    )
    try:
        yield box
    finally:
        box.close()


class House:
    """Runs the cells of one tree; from any thread."""

    def __init__(self, place: Place, sources: Sources, here: Here, *, lane: str = "head") -> None:
        self.place = place
        self.sources = sources
        self.here = here
        self._lock = threading.Lock()
        kind = place.image.id if place.image is not None else "host"
        digest = hashlib.sha256(f"{kind} {place.root}".encode()).hexdigest()[:12]
        # What head's steps keep is not for the base to find: it would fail, or pass, as head does.
        self._caches = place.cache / "action-caches" / f"{lane}-{digest}"
        self._caches.mkdir(parents=True, exist_ok=True)

    @property
    def merge(self) -> str:
        """The commit that stands for the pull request's merge."""
        return self.sources.origin.merge

    def run(
        self,
        order: Order,
        stoppers: Sequence[Stopper],
        *,
        launcher: Launcher,
        folder: Path,
        prefix: str = "",
    ) -> CellResult:
        """Run one cell from an untouched workspace to its result; nothing of it is left but logs and artifacts."""
        name = f"{prefix}{file_name(order.cell.id)}"
        try:
            with ExitStack() as stack:
                session = launcher.begin(name, container=self.place.engine is not None)
                stack.callback(launcher.give_up, session)
                assignment = self._open(
                    order, stack, name=name, prefix=prefix, folder=folder, launcher=launcher
                )
                return launcher.run(session, assignment, stoppers)
        except LackingError as error:
            return CellResult(cell=order.cell.id, conclusion=Conclusion.FAILURE, lacks=str(error))
        except (PresubmitError, OSError) as error:
            return CellResult(cell=order.cell.id, conclusion=Conclusion.FAILURE, error=str(error))

    def _open(
        self,
        order: Order,
        stack: ExitStack,
        *,
        name: str,
        prefix: str,
        folder: Path,
        launcher: Launcher,
    ) -> CellAssignment:
        place, job, contexts = self.place, order.job, order.contexts
        origin = order.cell.origin
        wish = read_container(evaluate(job.container, contexts), origin=origin)
        services_wanted = read_services(evaluate(job.services, contexts), origin=origin)
        image = self._image(wish, order.judged.image)
        run = folder.name.lower()
        workspace = stack.enter_context(
            open_workspace(
                self.sources,
                name,
                laid_for(order),
                name=place.name,
                run=run,
                repo=place.repository,
                work=CONTAINER_WORK if wish else RUNNER_WORK,
            )
        )
        services = None
        if services_wanted:
            if place.engine is None:
                raise LackingError("services: jobs run on this host")
            services = stack.enter_context(
                start_services(
                    place.engine,
                    services_wanted,
                    run=run,
                    repo=place.repository,
                    cell=name,
                    find_image=self._find_image,
                    log=folder / "logs" / f"{name}.services.log",
                )
            )
        artifacts = folder / ("base-artifacts" if name.startswith("base.") else "artifacts")
        artifacts.mkdir(exist_ok=True)
        on_host = place.engine is None
        # Empty for each cell, as on GitHub's own runners: nothing that a step puts there outlives it.
        tools = workspace.host_temp.with_name("_tool")
        tools.mkdir()
        paths = {
            "artifacts": str(artifacts) if on_host else _ARTIFACTS,
            "caches": str(self._caches) if on_host else _CACHES,
            "tools": str(tools) if on_host else TOOL_CACHE,
            "plugin": str(plugin_folder(place.cache)) if on_host else _PLUGIN,
        }
        network = (
            host_network_settings(place.environ)
            if on_host
            else read_network_settings(place.environ)
        )
        env = {
            **network.env_bare,
            **passed_environment(place.container, place.environ),
            **workspace.env,
            **(wish.env if wish else {}),
            "PIP_CACHE_DIR": f"{paths['caches']}/pip",
            "UV_CACHE_DIR": f"{paths['caches']}/uv",
            "PRESUBMIT_ARTIFACTS": paths["artifacts"],
            "PRESUBMIT_CACHES": paths["caches"],
        }
        box = stack.enter_context(
            _box(
                place,
                name[:40],
                mounts=(
                    *workspace.mounts,
                    *network.mounts,
                    BoxMount(source=str(artifacts), target=_ARTIFACTS),
                    BoxMount(source=str(self._caches), target=_CACHES),
                    BoxMount(source=str(tools), target=TOOL_CACHE),
                    BoxMount(
                        source=str(plugin_folder(place.cache)), target=_PLUGIN, read_only=True
                    ),
                ),
                env=env,
                workdir=workspace.path,
                image=image,
                network=services.network if services else "bridge",
                run=run,
                wish=wish,
            )
        )
        if services is not None and wish is None:
            assert place.image is not None  # noqa: S101 - there is an engine
            python = self.here.interpreters[0].path if self.here.interpreters else ""
            services.publish(box.id.partition(":")[2], image=place.image, python=python)
        if place.root and not on_host:
            stack.callback(self._give_back, box, folder / "logs" / f"{name}.driver.log")
        here = self.here if image is None else self._here_of(image, box, folder)
        return self._assignment(
            order,
            workspace,
            box,
            paths,
            env={k: v for k, v in env.items() if on_host or k.startswith("PRESUBMIT_")},
            here=here,
            name=name,
            prefix=prefix,
            folder=folder,
            events=launcher.events,
            job_context=job_context(services, box, wish),
            notes=(
                *self.sources.notes,
                *(services.notes if services else ()),
                *(wish.notes if wish else ()),
            ),
            artifacts=artifacts,
        )

    def _assignment(
        self,
        order: Order,
        workspace: Workspace,
        box: Box,
        paths: Mapping[str, str],
        *,
        env: dict[str, str],
        here: Here,
        name: str,
        prefix: str,
        folder: Path,
        events: Path,
        job_context: dict[str, Any],
        notes: tuple[str, ...],
        artifacts: Path,
    ) -> CellAssignment:
        contexts, job = order.contexts, order.job
        minutes = number_of(job.timeout_minutes, contexts, otherwise=_MINUTES)
        return CellAssignment(
            cell=f"{prefix}{order.cell.id}",
            box=box.id,
            tree=str(self.sources.tree),
            workflow=order.workflow.path,
            workflow_text=order.workflow.text,
            job=job.id,
            github=contexts["github"],
            matrix=order.values or None,
            strategy=contexts["strategy"],
            needs=contexts["needs"],
            inputs=contexts["inputs"],
            vars=contexts["vars"],
            job_context=job_context,
            workspace=workspace.path,
            temp=workspace.temp,
            host_temp=str(workspace.host_temp),
            tools=paths["tools"],
            host_tools=str(workspace.host_temp.with_name("_tool")),
            origin=workspace.origin,
            artifacts=str(artifacts),
            caches=str(self._caches),
            laid=workspace.laid,
            env=env,
            here=here,
            in_container=job.container is not None,
            substitutes={k.lower(): v for k, v in self.place.substitutes.items()},
            plugin=paths["plugin"],
            selection=self.place.selection,
            narrowing_env=narrowing_env(order, self.place),
            folder=str(folder),
            name=name,
            events=str(events),
            notes=notes,
            timeout=minutes * 60,
        )

    def _image(self, wish: ContainerWish | None, configured: str) -> ImageRef | None:
        """Give the image that the job names, or that its runner is mapped to; None is the devel image."""
        name = wish.image if wish is not None else configured
        if not name:
            return None
        if self.place.engine is None:
            raise LackingError(f"image {name}: jobs run on this host")
        try:
            return self._find_image(name)
        except ImageError as error:
            raise LackingError(f"image {name} (presubmit image pull {name})") from error

    def _find_image(self, name: str) -> ImageRef:
        engine = self.place.engine
        assert engine is not None  # noqa: S101 - asked by the callers
        try:
            return engine.image(name, origin="a job of upstream")
        except ImageError:
            if not self.place.pull:
                raise
            return engine.pull(name, origin="a job of upstream")

    def _here_of(self, image: ImageRef, box: Box, folder: Path) -> Here:
        with self._lock:
            cache = self.place.cache / "here"
            cache.mkdir(parents=True, exist_ok=True)
            key = f"{image.id} {self.place.root}"
            known = read_here(cache, key)
            if known is None:
                known = probe(box, log=folder / "logs" / "probe.log")
                write_here(cache, key, known)
        return msgspec.structs.replace(known, root=self.place.root or known.root)

    def _give_back(self, box: Box, log: Path) -> None:
        """Give what root wrote to its folders back to the caller, before the box goes."""
        owner = f"{os.getuid()}:{os.getgid()}"
        folders = (_ARTIFACTS, _CACHES, TOOL_CACHE)
        box.exec(("chown", "-R", owner, *folders), log=log, timeout=120.0, cwd="/")


def narrowing_env(order: Order, place: Place) -> dict[str, str]:
    """Give what tox needs so that the plugin's variables reach pytest: it passes on only what it is told to."""
    if place.selection is None:
        return {}
    recipe = recipe_of(order.judged.steps, file=order.workflow.file, read=place.read)
    targets = dict.fromkeys(
        target for run in recipe.tests if run.needs is Needs.TOX_OVERRIDE for target in run.targets
    )
    overrides = dict.fromkeys(tox_override(target, {}, place.read) for target in targets)
    return {"TOX_OVERRIDE": ";".join(overrides)} if overrides else {}


def job_context(services: Services | None, box: Box, wish: ContainerWish | None) -> dict[str, Any]:
    """Give `job.services` and `job.container`."""
    context = services.context() if services is not None else {}
    network = context.pop("container", {})
    if wish is not None:
        context["container"] = {"id": box.id.partition(":")[2], **network}
    return context


def laid_for(order: Order) -> Prepared | None:
    """Say what the job's first checkout will want, so that it is there when the box starts.

    None where a step before it could see the workspace: then the step itself checks out.
    """
    repository = str(order.contexts["github"].get("repository", ""))
    for step in order.judged.steps:
        if step.uses.lower().startswith("actions/checkout@"):
            return prepared(step.inputs, repository=repository) if step.certain else None
        if step.script or step.uses.startswith("./"):
            return None
    return None
