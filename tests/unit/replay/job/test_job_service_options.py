from __future__ import annotations

from typing import Any

import pytest

from presubmit.container.companions import Health, nanoseconds
from presubmit.replay.job.action import LackingError
from presubmit.replay.job.service_options import Port, read_container, read_services


def read(**given: Any) -> Any:
    return read_services({"db": {"image": "postgres:15", **given}}, origin="ci.yml:7")["db"]


def test_a_service_may_be_a_name_alone() -> None:
    assert read_services({"db": "redis"}, origin="")["db"].image == "redis"
    assert read_services(None, origin="") == {}


@pytest.mark.parametrize("image", ["", None])
def test_an_empty_image_means_no_container(image: object) -> None:
    assert read_services({"db": {"image": image}}, origin="") == {}
    assert read_container({"image": image}, origin="") is None
    assert read_container(image, origin="") is None


def test_the_scheme_of_an_image_is_dropped() -> None:
    found = read_container("docker://node:20", origin="")
    assert found is not None
    assert found.image == "node:20"


@pytest.mark.parametrize(
    ("written", "port"),
    [
        (5432, Port(container=5432)),
        ("5432", Port(container=5432)),
        ("5433:5432", Port(container=5432, host=5433)),
        ("5433:5432/tcp", Port(container=5432, host=5433)),
        ("53:53/udp", Port(container=53, host=53, protocol="udp")),
        ("127.0.0.1:5433:5432", Port(container=5432, host=5433)),
        ("127.0.0.1::5432", Port(container=5432)),
        ("0:5432", Port(container=5432)),
        (6379.0, Port(container=6379)),
    ],
)
def test_ports_are_read_as_docker_does(written: object, port: Port) -> None:
    assert read(ports=[written]).ports == (port,)


@pytest.mark.parametrize("written", ["a:b", "80-90:80-90", "", "1:2:3:4"])
def test_a_port_that_cannot_be_read_is_lacking(written: str) -> None:
    with pytest.raises(LackingError, match="ports of service db that can be read"):
        read(ports=[written])


def test_options_of_a_health_check_are_read() -> None:
    options = (
        '--health-cmd "pg_isready -U x" --health-interval 10s --health-timeout=5s '
        "--health-retries 5 --health-start-period 1m30s"
    )
    health = read(options=options).health
    assert health == Health(
        command="pg_isready -U x", interval="10s", timeout="5s", retries="5", start_period="1m30s"
    )
    assert health.for_engine() == {
        "test": ["CMD-SHELL", "pg_isready -U x"],
        "interval": 10_000_000_000,
        "timeout": 5_000_000_000,
        "retries": 5,
        "start_period": 90_000_000_000,
    }


def test_a_health_check_can_be_switched_off_or_left_to_the_image() -> None:
    assert read(options="--no-healthcheck").health.for_engine() == {"test": ["NONE"]}
    assert read().health.for_engine() is None


@pytest.mark.parametrize("options", ["--health-interval soon", "--health-retries many"])
def test_a_health_check_that_cannot_be_read_is_lacking(options: str) -> None:
    with pytest.raises(LackingError, match="a health check of service db that can be read"):
        read(options=options)


@pytest.mark.parametrize(
    ("text", "number"),
    [("500ms", 500_000_000), ("1.5s", 1_500_000_000), ("2h", 7_200_000_000_000), ("7us", 7000)],
)
def test_durations_are_dockers(text: str, number: int) -> None:
    assert nanoseconds(text) == number


@pytest.mark.parametrize("text", ["", "5", "s", "5 s", "-1s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        nanoseconds(text)


def test_names_start_command_and_scratch_folders_are_kept() -> None:
    found = read(
        options="--name db1 --network-alias=db2 --hostname h --tmpfs /data:size=1g --shm-size 256m -p 1:2",
        entrypoint="/bin/sh -c",
        command="'exec redis-server --save \"\"'",
    )
    assert (found.aliases, found.hostname) == (("db1", "db2"), "h")
    assert found.tmpfs == {"/data": "size=1g"}
    assert found.options.shm == 256 << 20
    assert found.ports == (Port(container=2, host=1),)
    assert found.entrypoint == ("/bin/sh", "-c")
    assert found.command == ('exec redis-server --save ""',)


def test_the_entry_point_may_stand_among_the_options() -> None:
    assert read(options="--entrypoint redis-server").entrypoint == ("redis-server",)


@pytest.mark.parametrize(
    "options", ["--init --rm -it", "--label a=b --restart=always -l x --platform linux/amd64"]
)
def test_options_without_effect_here_are_passed_over(options: str) -> None:
    assert read(options=options) == read()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ("--privileged", "'--privileged' is refused"),
        ("--network host", "'--network' is refused"),
        ("-v /:/host", "'-v' is refused"),
        ("--cap-add SYS_ADMIN", "'--cap-add' is refused"),
        ("--memory lots", "--memory 'lots' is refused"),
        ("--memory", "needs a value"),
        ("'open", "options of service db that can be read"),
    ],
)
def test_options_that_would_widen_rights_are_lacking(options: str, match: str) -> None:
    with pytest.raises(LackingError, match=match):
        read(options=options)


def test_volumes_are_lacking() -> None:
    with pytest.raises(LackingError, match=r"volumes of service db \(/data:/data\)"):
        read(volumes=["/data:/data"])
    with pytest.raises(LackingError, match=r"volumes of the job's container \(/x\)"):
        read_container({"image": "a", "volumes": ["/x"]}, origin="")


def test_variables_are_texts_and_those_of_options_are_added() -> None:
    found = read(env={"A": 1, "B": True, "C": None, "D": 3.10}, options="-e E=5 --env=A=other")
    assert found.env == {"A": "1", "B": "true", "C": "", "D": "3.1", "E": "5"}


def test_credentials_are_not_used() -> None:
    found = read(credentials={"username": "x", "password": "y"})
    assert found.notes == ("credentials of service db are not used",)
    assert "password" not in str(found)


@pytest.mark.parametrize(
    ("options", "user", "number"),
    [
        ("--user root", "0:0", ""),
        ("-u 0", "0:0", ""),
        ("--user 1001", "", "1001:1001"),
        ("", "", ""),
    ],
)
def test_a_job_container_may_ask_for_root(options: str, user: str, number: str) -> None:
    found = read_container({"image": "a", "options": options}, origin="")
    assert found is not None
    assert (found.user, found.options.user) == (user, number)
