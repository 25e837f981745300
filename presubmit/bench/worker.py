"""One worker process as the host sees it: at which benchmark it is, what it answers, and how it ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from presubmit.bench.values import Broken, Proof, Trouble

if TYPE_CHECKING:
    from collections.abc import Callable

    from presubmit.bench.talk import Talk

_SLICE: Final = 0.2
_GRACE: Final = 10.0
_ADVANCE_SECONDS: Final = 600.0
"""For imports and set-up, which the worker's own clock does not watch."""
_SHOWN_LINES: Final = 8


class Worker:
    """One process of one side; `check` raises StoppedError when measuring is to end."""

    def __init__(
        self, side: str, talk: Talk, *, timeout: float, check: Callable[[], None]
    ) -> None:
        self.side = side
        self._talk = talk
        self._timeout = timeout
        self._check = check
        self.at: str | None = None
        """The benchmark that it obeys for."""
        self.seen: list[str] = []
        """The benchmarks that it came to, in its order."""
        self.broken: dict[str, Broken] = {}
        self.proofs: tuple[Proof, ...] = ()
        self.notes: tuple[str, ...] = ()
        self.ended = False
        """It came to its end by itself."""
        self.died = ""
        """Why it is gone before its end."""
        self.is_lost = False
        """It died where it was at no benchmark."""

    @property
    def stands(self) -> bool:
        """Whether it is at a benchmark."""
        return self.at is not None

    @property
    def is_over(self) -> bool:
        """Whether there is nobody to talk with any more."""
        return self.ended or bool(self.died)

    def advance(self) -> None:
        """Let it go on to its next benchmark, or to its end."""
        if self.at is not None:
            self.at = None
            self._talk.send({"do": "next"})
        while not (self.stands or self.is_over):
            self._hear(self._receive(_ADVANCE_SECONDS))

    def ask(self, message: dict[str, object], *, answer: str) -> dict[str, Any] | None:
        """Have it do something for the benchmark that it is at; None where that failed or it died."""
        if self.at is None:
            return None
        self._talk.send(message)
        while self.stands and not self.is_over:
            heard = self._receive(2 * self._timeout + _GRACE)
            if heard is not None and heard.get("say") == answer:
                return heard
            self._hear(heard)
        return None

    def fail(self, bench: str, error: str, *, trouble: Trouble = Trouble.FAILED) -> None:
        """Note that a benchmark is broken on this side; what was noted first stays."""
        broken = Broken(id=bench, side=self.side, error=error, trouble=trouble)
        self.broken.setdefault(bench, broken)

    def close(self) -> None:
        """End it."""
        self._talk.close()

    def _hear(self, heard: dict[str, Any] | None) -> None:
        match heard:
            case None:
                self._die("the process ended")
            case {"say": "at", "id": str(bench)}:
                self.at = bench
                self.seen.append(bench)
            case {"say": "failed" | "broken" | "skipped", "id": str(bench)}:
                error = str(heard.get("error") or heard.get("why") or heard["say"])
                self.fail(bench, error, trouble=_trouble(heard))
                if bench == self.at:
                    self.at = None
            case {"say": "end"}:
                self.at, self.ended = None, True
                self.proofs = tuple(_proofs(heard.get("proof")))
            case {"say": "hello", "pinned": False}:
                self.notes += ("could not be pinned to one core",)
            case _:
                pass  # a word of a later version

    def _receive(self, seconds: float) -> dict[str, Any] | None:
        """Wait for its next word in slices, so that the budget and ^C end it at once."""
        waited = 0.0
        while True:
            self._check()
            try:
                return self._talk.receive(_SLICE)
            except TimeoutError:
                waited += _SLICE
            if waited >= seconds:
                self._die(f"no answer within {seconds:g} s")
                self._talk.close()
                return {}

    def _die(self, why: str) -> None:
        """Note its death; the benchmark that it was at is broken."""
        if self.died:
            return
        said = self._talk.errors.splitlines()[-_SHOWN_LINES:]
        self.died = "\n".join((why, *said))
        self.is_lost = self.at is None
        if self.at is not None:
            self.fail(self.at, self.died)
            self.at = None


def _trouble(heard: dict[str, Any]) -> Trouble:
    if heard["say"] == "skipped":
        return Trouble.SKIPPED
    return Trouble.ABSENT if heard.get("absent") is True else Trouble.FAILED


def _proofs(given: object) -> list[Proof]:
    """Read what it had loaded; an entry of another form is left out."""
    return [
        Proof(module=str(one["module"]), file=str(one["file"]), blob=str(one["blob"]))
        for one in (given if isinstance(given, list) else ())
        if isinstance(one, dict) and {"module", "file", "blob"} <= one.keys()
    ]
