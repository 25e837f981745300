from __future__ import annotations

import json
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.container.model import BoxSpec
from presubmit.errors import EngineError
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.service_options import read_services
from presubmit.replay.job.services import start_services
from tests.integration.conftest import TEST_IMAGE
from tests.integration.replay.cells import LABELS, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from presubmit.container.box import DockerBox
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef
    from presubmit.replay.job.services import Services

pytestmark = pytest.mark.engine

# Answers every connection with its own name and port.
ECHO = """
import os, socket, sys
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
print("listening", flush=True)
while True:
    peer, _ = server.accept()
    peer.sendall(f"{os.environ.get('NAME')}:{sys.argv[1]}".encode())
    peer.close()
"""
ASK = "import socket, sys; print(socket.create_connection((sys.argv[1], int(sys.argv[2])), 5).recv(99).decode())"
LISTENS = "python3 -c 'import socket; socket.create_connection((\"localhost\", 5432), 1)'"


def service(port: int = 5432, **given: Any) -> dict[str, Any]:
    return {
        "image": TEST_IMAGE,
        "entrypoint": "python3 -u -c",
        "command": f"{json.dumps(ECHO).replace(chr(92) + 'n', chr(10))} {port}",
        **given,
    }


def services(**given: dict[str, Any]) -> Any:
    return read_services(given, origin="ci.yml:5")


@pytest.fixture
def box_in(engine: Engine, image: ImageRef) -> Iterator[Callable[[Services], DockerBox]]:
    """Start the job's box in the services' network."""
    made: list[DockerBox] = []

    def box_in(found: Services) -> DockerBox:
        spec = BoxSpec(image=image, lane="job", workdir="/tmp", network=found.network, **LABELS)
        made.append(engine.start(spec))
        return made[-1]

    yield box_in
    for box in made:
        box.close()


def ask(box: DockerBox, host: str, port: int, log: Path) -> list[str]:
    return lines(box.exec(("python3", "-c", ASK, host, str(port)), log=log, timeout=20))


def left(engine: Engine) -> list[str]:
    """What is there after the few moments that the engine needs to take a box down."""
    label = {"label": f"dev.presubmit.run={LABELS['run']}"}
    until = time.monotonic() + 5
    while True:
        containers = engine.api.containers(all=True, filters=label)
        found = [one["Id"] for one in (*containers, *engine.api.networks(filters=label))]
        if not found or time.monotonic() > until:
            return found
        time.sleep(0.1)


def test_a_service_is_reached_by_its_name_and_by_its_published_port(
    engine: Engine, image: ImageRef, box_in: Callable[..., DockerBox], tmp_path: Path
) -> None:
    log = tmp_path / "log"
    wishes = services(
        postgres=service(5432, ports=["5433:5432"], env={"NAME": "pg"}),
        redis=service(6379, ports=[6379], env={"NAME": "r"}),
        other=service(6379, ports=["6379:6379/tcp"], env={"NAME": "o"}),
    )
    with (
        start_services(
            engine, wishes, cell="tests", log=tmp_path / "services.log", **LABELS
        ) as found,
        closing(box_in(found)) as box,
    ):
        found.publish(box.id, image=image, python="/usr/bin/python3")
        assert ask(box, "postgres", 5432, log) == ["pg:5432"]
        assert ask(box, "localhost", 5433, log) == ["pg:5432"]
        context = found.context()
        free = context["services"]["redis"]["ports"]["6379"]
        assert int(free) >= 32768
        assert ask(box, "127.0.0.1", int(free), log) == ["r:6379"]
        assert ask(box, "localhost", 6379, log) == ["o:6379"]
        assert context["services"]["postgres"]["ports"] == {"5432": "5433"}
        assert (
            context["services"]["postgres"]["network"]
            == context["container"]["network"]
            == found.network
        )
    assert left(engine) == []
    assert "[service postgres] listening" in (tmp_path / "services.log").read_text()


def test_a_service_is_waited_for_until_it_is_healthy(
    engine: Engine, box_in: Callable[..., DockerBox], tmp_path: Path
) -> None:
    late = service()
    late["entrypoint"] = "sh -c"
    late["command"] = f"'sleep 2; exec python3 -u -c \"$0\" 5432' {late['command']}"
    late["options"] = (
        f"--health-cmd {json.dumps(LISTENS)} --health-interval 200ms --health-timeout 2s --health-retries 50"
    )
    began = time.monotonic()
    with start_services(engine, services(db=late), cell="tests", **LABELS) as found:
        assert time.monotonic() - began > 2
        assert ask(box_in(found), "db", 5432, tmp_path / "log") == ["None:5432"]


def test_a_service_that_does_not_become_healthy_is_shown_with_its_last_words(
    engine: Engine, tmp_path: Path
) -> None:
    ill = {
        "image": TEST_IMAGE,
        "command": "sh -c 'echo no config file; exec sleep 60'",
        "options": "--health-cmd false --health-interval 100ms --health-retries 2",
    }
    with (
        pytest.raises(EngineError, match="service db is unhealthy: no config file"),
        start_services(engine, services(db=ill), cell="tests", log=tmp_path / "log", **LABELS),
    ):
        pass
    assert "[service db] no config file" in (tmp_path / "log").read_text()
    assert left(engine) == []


def test_a_health_check_that_never_ends_is_given_up(engine: Engine) -> None:
    slow = {
        "image": TEST_IMAGE,
        "command": "sleep 60",
        "options": "--health-cmd false --health-interval 1h",
    }
    with (
        pytest.raises(EngineError, match="service db is starting"),
        start_services(engine, services(db=slow), cell="tests", timeout=0.5, **LABELS),
    ):
        pass


def test_a_service_that_ends_at_once_is_said_but_the_job_goes_on(engine: Engine) -> None:
    short = {"image": TEST_IMAGE, "command": "sh -c 'echo bad option >&2; exit 3'"}
    with start_services(engine, services(db=short), cell="tests", **LABELS) as found:
        time.sleep(0.5)
        found.wait(timeout=5)
        assert set(found.notes) == {"service db ended at once with 3: bad option"}


def test_an_image_that_is_not_here_is_lacking_and_nothing_is_started(engine: Engine) -> None:
    wishes = services(first=service(), db={"image": "docker://no-such/postgres:15"})
    match = r"image no-such/postgres:15 of service db \(presubmit image pull no-such/postgres:15\)"
    with (
        pytest.raises(LackingError, match=match),
        start_services(engine, wishes, cell="tests", **LABELS),
    ):
        pass
    assert left(engine) == []


def test_a_box_that_is_still_there_does_not_hold_up_the_end(
    engine: Engine, box_in: Callable[..., DockerBox]
) -> None:
    with start_services(engine, services(db=service()), cell="tests", **LABELS) as found:
        box = box_in(found)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert box.id.removeprefix("docker:") in left(engine)
    assert not engine.api.networks(names=[found.network])


def test_services_see_no_host_and_have_few_rights(engine: Engine) -> None:
    with start_services(engine, services(db=service()), cell="tests", **LABELS) as found:
        container = found.context()["services"]["db"]["id"]
        state = engine.api.inspect_container(container)
        assert state["Mounts"] == []
        assert state["HostConfig"]["CapDrop"] == ["ALL"]
        assert "no-new-privileges" in state["HostConfig"]["SecurityOpt"]
        assert not state["NetworkSettings"]["Ports"]


def test_without_a_python_localhost_is_lacking(
    engine: Engine, image: ImageRef, box_in: Callable[..., DockerBox]
) -> None:
    wishes = services(db=service(ports=["5432:5432"]))
    with start_services(engine, wishes, cell="tests", **LABELS) as found:
        box = box_in(found)
        with pytest.raises(LackingError, match="a Python in the image"):
            found.publish(box.id, image=image, python="")
        box.close()


def test_a_port_below_1024_can_be_published(
    engine: Engine, image: ImageRef, box_in: Callable[..., DockerBox], tmp_path: Path
) -> None:
    wishes = services(web=service(8080, ports=["80:8080"]))
    with (
        start_services(engine, wishes, cell="tests", **LABELS) as found,
        closing(box_in(found)) as box,
    ):
        found.publish(box.id, image=image, python="python3")
        assert ask(box, "localhost", 80, tmp_path / "log") == ["None:8080"]
