"""The host's end of the talk, with real processes: on the host, and in a real box."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from presubmit.bench.measure import measure
from presubmit.bench.values import Adapter, Bench, Settings, Suite, Word
from presubmit.container.model import BoxSpec
from presubmit.errors import EngineError
from presubmit.replay.bench_sides import BoxSide, HostSide

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from presubmit.bench.talk import Side, Talk
    from presubmit.container.box import DockerBox
    from presubmit.container.engine import Engine
    from presubmit.container.model import ImageRef

# Answers every line with itself and where it runs; what it is told to `do` comes first.
ECHO = r"""
import json, os, subprocess, sys, time
for line in sys.stdin:
    message = json.loads(line)
    match message.get("do"):
        case "die":
            print("the last words", file=sys.stderr, flush=True)
            sys.exit(3)
        case "abort":
            os.abort()
        case "sleep":
            time.sleep(60)
        case "junk":
            print("no json\n[1]\n\n{", flush=True)
        case "halves":
            text = json.dumps({"half": "é" * 40000})
            sys.stdout.write(text[:70000]); sys.stdout.flush(); time.sleep(0.2)
            print(text[70000:] + "\n" + json.dumps({"second": 1}), flush=True)
            continue
        case "child":
            child = subprocess.Popen(["sleep", "300"])
            print(json.dumps({"child": child.pid}), flush=True)
            continue
        case "leave":
            subprocess.Popen(["sleep", "300"])
            sys.exit(0)
        case "end":
            print(json.dumps({"say": "end"}), flush=True)
            time.sleep(0.2)
            break
        case "loud":
            sys.stderr.write("x" * 300000 + " end\n"); sys.stderr.flush()
    print(json.dumps({
        "heard": message, "cwd": os.getcwd(), "seed": os.environ.get("PYTHONHASHSEED"),
        "side": os.environ.get("SIDE"), "ours": os.environ.get("PRESUBMIT_SCAN"), "pid": os.getpid(),
    }), flush=True)
"""

JOB = {"mode": "run", "ids": ["a", "ü", "\udcff"]}


@pytest.fixture
def host(tmp_path: Path) -> HostSide:
    command = (sys.executable, "-c", ECHO)
    return HostSide("base", command, cwd=str(tmp_path), env={"SIDE": "base"})


@pytest.fixture(scope="module")
def box(engine: Engine, image: ImageRef) -> Iterator[DockerBox]:
    run = f"test-talk-{os.getpid()}"
    box = engine.start(
        BoxSpec(image=image, lane="base", run=run, repo="repo", workdir="/tmp", network="none")
    )
    yield box
    box.close()


@pytest.fixture(params=["host", pytest.param("box", marks=pytest.mark.engine)])
def side(request: pytest.FixtureRequest, host: HostSide) -> Side:
    if request.param == "host":
        return host
    command = ("python3", "-c", ECHO)
    return BoxSide(
        "base", request.getfixturevalue("box"), command, cwd="/usr/share", env={"SIDE": "base"}
    )


@pytest.fixture
def start(side: Side) -> Iterator[Callable[[], Talk]]:
    made: list[Talk] = []

    def start() -> Talk:
        made.append(side.start(JOB, env={"PYTHONHASHSEED": "7"}))
        return made[-1]

    yield start
    for talk in made:
        talk.close()


def receive(talk: Talk, *, seconds: float = 20.0) -> dict[str, Any]:
    heard = talk.receive(seconds)
    assert heard is not None, talk.errors
    return heard


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_worker_gets_its_job_its_folder_and_its_environment(
    start: Callable[[], Talk], tmp_path: Path
) -> None:
    heard = receive(start())
    assert heard["heard"] == JOB
    assert heard["cwd"] in {str(tmp_path), "/usr/share"}
    assert (heard["seed"], heard["side"], heard["ours"]) == ("7", "base", None)


def test_silence_is_a_timeout_and_the_talk_goes_on(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    with pytest.raises(TimeoutError):
        talk.receive(0.1)
    talk.send({"do": "again"})
    assert receive(talk)["heard"] == {"do": "again"}


def test_answers_that_come_in_pieces_are_put_together(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "halves"})
    assert receive(talk) == {"half": "é" * 40000}
    assert receive(talk) == {"second": 1}


def test_what_is_no_object_is_kept_with_the_errors(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "junk"})
    assert receive(talk)["heard"] == {"do": "junk"}
    assert talk.errors == "no json\n[1]\n{"


def test_a_worker_that_ends_gives_none_and_its_last_words(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "die"})
    assert talk.receive(20.0) is None
    assert talk.errors == "the last words"
    talk.send({"do": "more"})  # nobody listens, nothing is raised
    assert talk.receive(20.0) is None


def test_a_worker_that_crashes_gives_none(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "abort"})
    assert talk.receive(20.0) is None


def test_of_many_errors_the_tail_is_kept(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "loud"})
    receive(talk)
    with pytest.raises(TimeoutError):
        talk.receive(0.5)
    assert talk.errors.endswith("x end")
    assert len(talk.errors) <= 4000


def test_closing_is_harmless_twice_and_after_the_end(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "die"})
    assert talk.receive(20.0) is None
    talk.close()
    talk.close()
    assert talk.receive(0.0) is None


def test_closing_kills_a_worker_that_hangs_with_its_children(host: HostSide) -> None:
    talk = host.start(JOB, env={})
    pid = receive(talk)["pid"]
    talk.send({"do": "child"})
    child = receive(talk)["child"]
    talk.send({"do": "sleep"})
    assert is_running(pid)
    talk.close()
    until = time.monotonic() + 10
    while is_running(child) and time.monotonic() < until:
        time.sleep(0.02)
    assert (is_running(pid), is_running(child)) == (False, False)


def test_a_worker_is_gone_although_its_child_holds_the_streams(start: Callable[[], Talk]) -> None:
    talk = start()
    receive(talk)
    talk.send({"do": "leave"})
    assert talk.receive(20.0) is None


def test_a_worker_that_said_its_last_word_is_let_go_by_itself(
    start: Callable[[], Talk], side: Side, request: pytest.FixtureRequest
) -> None:
    talk = start()
    pid = receive(talk)["pid"]
    talk.send({"do": "end"})
    assert receive(talk) == {"say": "end"}
    talk.close()
    if isinstance(side, BoxSide):  # whose process numbers are its own
        assert request.getfixturevalue("box").look("nobody").others == ()
    else:
        assert not is_running(pid)


@pytest.mark.engine
def test_closing_kills_a_worker_in_a_box_with_its_children(box: DockerBox) -> None:
    talk = BoxSide("head", box, ("python3", "-c", ECHO), cwd="/tmp").start(JOB, env={})
    receive(talk)
    talk.send({"do": "child"})
    receive(talk)
    talk.send({"do": "sleep"})
    assert len(box.look("nobody").others) == 2
    talk.close()
    assert box.look("nobody").others == ()


def test_a_program_that_is_not_there_is_an_error_of_the_engine(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot start the head side's worker"):
        HostSide("head", ("/no/such/program",), cwd=str(tmp_path)).start(JOB, env={})


@pytest.mark.engine
def test_a_program_that_is_not_in_the_box_ends_the_talk_with_the_reason(box: DockerBox) -> None:
    talk = BoxSide("head", box, ("/no/such/program",), cwd="/tmp").start(JOB, env={})
    assert talk.receive(20.0) is None
    assert "/no/such/program" in talk.errors
    talk.close()


@pytest.mark.engine
def test_a_box_that_is_gone_is_an_error_of_the_engine(engine: Engine, image: ImageRef) -> None:
    run = f"test-talk-gone-{os.getpid()}"
    gone = engine.start(
        BoxSpec(image=image, lane="base", run=run, repo="repo", workdir="/tmp", network="none")
    )
    gone.close()
    with pytest.raises(EngineError, match="cannot start the base side's worker"):
        BoxSide("base", gone, ("python3", "-c", ECHO), cwd="/tmp").start(JOB, env={})


# A worker of few lines that measures real work: `head` does more of it.
WORK = r"""
import json, os, sys, time
def say(**message):
    print(json.dumps(message), flush=True)
job = json.loads(sys.stdin.readline())
count = 2000 if os.environ["SIDE"] == "base" else 2600
def call():
    for _ in range(count):
        pass
say(say="hello", pid=os.getpid(), python="3", pinned=True)
for name in job["ids"]:
    say(say="at", id=name)
    for line in sys.stdin:
        told = json.loads(line)
        if told["do"] == "next":
            break
        if told["do"] == "calibrate":
            say(say="loops", loops=50, fixed=False)
            continue
        loops = told.get("loops", 1)
        wall, cpu = time.perf_counter(), time.process_time()
        for _ in range(loops):
            call()
        cpu, wall = (time.process_time() - cpu) / loops, (time.perf_counter() - wall) / loops
        if told["do"] == "warm":
            say(say="warm", seconds=wall)
        else:
            say(say="turn", wall=wall, cpu=cpu, wait=max(0.0, wall - cpu))
say(say="end", proof=[])
"""


def test_real_processes_that_do_more_work_are_slower_and_confirmed(tmp_path: Path) -> None:
    def sides() -> tuple[Side, Side]:
        base, head = (
            HostSide(
                name, (sys.executable, "-S", "-c", WORK), cwd=str(tmp_path), env={"SIDE": name}
            )
            for name in ("base", "head")
        )
        return base, head

    suite = Suite(adapter=Adapter.ASV, root="b", files=("b/a.py",), origin="asv.conf.json")
    bench = Bench(id="a", adapter=Adapter.ASV, root="b", file="b/a.py")
    measured = measure(
        sides(),
        [bench],
        [suite],
        Settings(budget=300.0),
        tell=lambda _: None,
        renew=sides,
        now=time.monotonic,
        stop=lambda: False,
    )
    (result,) = measured.results
    assert (result.word, result.confirmed) == (Word.SLOWER, True)
    assert result.interval.ratio == pytest.approx(1.3, abs=0.1)
