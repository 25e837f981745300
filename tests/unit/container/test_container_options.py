from __future__ import annotations

import pytest

from presubmit.container.model import Limits
from presubmit.container.options import Options, parse_options, split_options
from presubmit.errors import ConfigError


def test_allowed_options_are_read() -> None:
    found = parse_options(
        "--shm-size=1g --memory 512m --cpus 1.5 --ulimit nofile=1024:2048 --ulimit core=-1 "
        "--gpus all --user 1001:121 -e A=1 --env B='two words'",
        origin="x",
    )
    assert found == Options(
        shm=1 << 30,
        memory=512 << 20,
        cpus=1.5,
        ulimits=("nofile=1024:2048", "core=-1"),
        gpus="all",
        user="1001:121",
        env={"A": "1", "B": "two words"},
    )


@pytest.mark.parametrize(
    ("text", "size"),
    [("-m2g", 2 << 30), ("-m=2G", 2 << 30), ("-m 1024", 1024), ("-m 1.5gb", 3 << 29)],
)
def test_sizes_are_read_as_docker_does(text: str, size: int) -> None:
    assert parse_options(text, origin="x").memory == size


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("--gpus all", "all"),
        ("--gpus 2", "0,1"),
        ("--gpus device=3", "3"),
        ("--gpus '\"device=0,1\"'", "0,1"),
    ],
)
def test_gpus_are_read(text: str, gpus: str) -> None:
    assert parse_options(text, origin="x").gpus == gpus


@pytest.mark.parametrize(
    "text",
    [
        "--privileged",
        "--privileged=true",
        "--privileged=false",
        "-v /:/host",
        "-v/:/host",
        "--volume=/:/host",
        "--mount type=bind,source=/var/run/docker.sock,target=/s",
        "--pid=host",
        "--pid host",
        "--net host",
        "--net=host",
        "--network=host",
        "--ipc=host",
        "--uts=host",
        "--userns=host",
        "--cgroupns host",
        "--device /dev/kvm",
        "--device-cgroup-rule 'c 1:3 rwm'",
        "--cap-add=ALL",
        "--cap-add SYS_ADMIN",
        "--security-opt seccomp=unconfined",
        "--security-opt=apparmor=unconfined",
        "--env-file .env",
        "--env-file=/etc/shadow",
        "--volumes-from other",
        "--cgroup-parent=/",
        "--runtime=x",
        "--sysctl kernel.x=1",
        "--add-host a:1.2.3.4",
        "--dns 1.2.3.4",
        "--oom-kill-disable",
        "--memory-swap -1",
        "--shm-sizes 1g",
        "--entrypoint sh",
        "--tmpfs /x",
        "--group-add docker",
        "--gpus all --privileged",
        "-it",
        "-itv /:/host",
        "-iu 0",
        "-P",
        "-p 80:80",
        "-d",
        "-w /",
        "-l a=b",
        "--",
        "-",
        "image-name",
        "—privileged",
        "--PRIVILEGED",
        "--user root",
        "--user 0",
        "--user 0:0",
        "--user 00:1000",
        "--user=root:root",
        "-u0",
        "-u root",
        "--user jenkins",
        "--user ''",
        "-e SECRET",
        "--env SECRET",
        "-e PRESUBMIT_EXEC=1",
        "-e '=x'",
        "-mprivileged",
        "--memory=lots",
        "--memory=-1",
        "--cpus nan",
        "--cpus inf",
        "--cpus -1",
        "--cpus 0",
        "--ulimit nofile",
        "--ulimit nofile=a",
        "--gpus all,capabilities=utility",
        "--gpus 0",
        "--gpus 1000000",
        "--memory",
        "-e",
        "--env 'A=1",
    ],
)
def test_everything_else_is_refused(text: str) -> None:
    with pytest.raises(ConfigError):
        parse_options(text, origin="ci.yml:12")


def test_the_refusal_names_the_option_and_where_it_stands() -> None:
    with pytest.raises(ConfigError, match=r"ci\.yml:12.*'--privileged' is refused") as error:
        parse_options("--cpus 1 --privileged=true", origin="ci.yml:12")
    assert "--shm-size" in error.value.hint


def test_a_list_of_words_is_not_split_again() -> None:
    assert parse_options(["-e", "A=x --privileged"], origin="x").env == {"A": "x --privileged"}


def test_refused_options_are_named_and_the_rest_is_kept() -> None:
    found, refused = split_options("--cap-add SYS_PTRACE --shm-size 1g --net=host", origin="x")
    assert found == Options(shm=1 << 30)
    assert [sentence.split("'")[1] for sentence in refused] == ["--cap-add", "--net"]


def test_a_refused_options_value_is_not_taken_for_an_option() -> None:
    found, refused = split_options("--volume -e A=1", origin="x")
    assert len(refused) == 1
    assert found.env == {"A": "1"}


def test_limits_take_what_options_ask_for() -> None:
    options = Options(memory=5, ulimits=("nofile=1",))
    assert options.limits_over(Limits(cpus=2, ulimits=("core=0",))) == Limits(
        memory=5, cpus=2, ulimits=("core=0", "nofile=1")
    )
