from __future__ import annotations

import random

import pytest

from presubmit.container.redact import Masker, mask_text


def masked(pieces: list[bytes], *secrets: str) -> bytes:
    masker = Masker(secrets)
    return b"".join([*map(masker.feed, pieces), masker.flush()])


def test_a_secret_is_masked() -> None:
    assert mask_text("token=hunter2.", ["hunter2"]) == "token=***."


def test_without_secrets_nothing_is_held_back() -> None:
    assert Masker([]).feed(b"abc") == b"abc"
    assert Masker(["", "  "]).feed(b"abc") == b"abc"


@pytest.mark.parametrize("cut", range(1, 13))
def test_a_secret_split_between_two_frames_is_masked(cut: int) -> None:
    text = b"a hunter2 b!"
    assert masked([text[:cut], text[cut:]], "hunter2") == b"a *** b!"


def test_a_secret_in_single_bytes_is_masked() -> None:
    text = b"xhunterhunter2y"
    assert masked([bytes([byte]) for byte in text], "hunter2") == b"xhunter***y"


def test_the_start_of_a_secret_alone_is_shown_at_the_end() -> None:
    assert masked([b"a hun"], "hunter2") == b"a hun"


def test_text_without_a_likely_start_goes_through_at_once() -> None:
    assert Masker(["hunter2"]).feed(b"progress 10 %\r") == b"progress 10 %\r"


def test_the_longer_of_two_secrets_wins_in_pieces_too() -> None:
    assert masked([b"abc", b"def "], "abc", "abcdef") == b"*** "
    assert masked([b"abc", b"xyz "], "abc", "abcdef") == b"***xyz "


def test_a_secret_that_overlaps_the_held_part_is_masked() -> None:
    assert masked([b"ab", b"!"], "ab", "bc") == b"***!"


def test_each_line_of_a_secret_of_several_lines_is_masked() -> None:
    assert masked([b"key line-one\r\nline-two"], "line-one\nline-two") == b"key ***\r\n***"


def test_a_secret_beyond_ascii_is_masked_between_its_bytes() -> None:
    word = "pässwörd".encode()
    assert masked([b"x" + word[:2], word[2:] + b"y"], "pässwörd") == b"x***y"


def test_any_cutting_gives_the_same() -> None:
    rng = random.Random(7)  # noqa: S311 - cuts, not keys
    for _ in range(300):
        secrets = ["".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(2)]
        text = "".join(rng.choices("abc", k=12)).encode()
        cuts = sorted(rng.choices(range(13), k=3))
        pieces = [text[i:j] for i, j in zip([0, *cuts], [*cuts, 12], strict=True)]
        assert masked(pieces, *secrets) == masked([text], *secrets)
        assert not any(
            secret.encode() in masked(pieces, *secrets)
            for secret in secrets[:1]
            if len(secrets) == 1
        )
