from __future__ import annotations

from base64 import b64encode

import pytest

from presubmit.replay.job.masks import Masks, MaskStream


def test_a_text_without_secrets_is_left_alone() -> None:
    assert Masks().mask("nothing") == "nothing"
    assert Masks([""]).mask("nothing") == "nothing"
    assert not Masks(["s3cret"]).hides("nothing")


def test_secrets_are_hidden_wherever_they_stand() -> None:
    masks = Masks(["s3cret", "other"])
    assert masks.mask("s3cret and <other>s3") == "*** and <***>s3"
    assert masks.hides("a s3cret")


def test_the_longer_of_two_secrets_goes_first() -> None:
    assert Masks(["pass", "password1"]).mask("password1 pass") == "*** ***"


def test_secrets_that_touch_or_overlap_become_one_mask() -> None:
    assert Masks(["abcd", "cdef"]).mask("x abcdef y") == "x *** y"
    assert Masks(["abc", "def"]).mask("x abcdef y") == "x *** y"
    assert Masks(["aa"]).mask("aaaaa") == "***"


def test_each_line_of_a_secret_is_hidden_on_its_own() -> None:
    masks = Masks(["-----BEGIN\r\n  MIIEvQ\n\n-----END\n"])
    assert masks.mask("MIIEvQ") == "***"
    assert masks.mask("x -----END") == "x ***"
    assert masks.mask("  \n") == "  \n"


def test_a_secret_of_one_letter_hides_every_such_letter_as_on_github() -> None:
    assert Masks(["a"]).mask("banana") == "b***n***n***"


@pytest.mark.parametrize(
    ("secret", "shown"),
    [
        ('it\'s "x"&ü', 'it\'s \\"x\\"&ü'),
        ('it\'s "x"&ü', "it%27s%20%22x%22%26%C3%BC"),
        ('it\'s "x"&ü', "it&apos;s &quot;x&quot;&amp;ü"),
        ('it\'s "x"&ü', "it''s \"x\"&ü"),
        ("tab\there\\", "tab\\there\\\\"),
        ('"in quotes"', "in quotes"),
    ],
)
def test_usual_encodings_are_hidden_as_well(secret: str, shown: str) -> None:
    assert Masks([secret]).mask(f"<{shown}>") == "<***>"


@pytest.mark.parametrize("user", ["", "x", "us", "user"])
def test_a_secret_in_base64_is_hidden_after_any_user_name(user: str) -> None:
    encoded = b64encode(f"{user}:hunter2hunter2".encode()).decode()
    assert "***" in Masks(["hunter2hunter2"]).mask(encoded)


def test_masks_can_be_added_at_any_time() -> None:
    masks = Masks()
    stream = MaskStream(masks)
    assert stream.feed("hunter2 ") == "hunter2 "
    masks.add("hunter2")
    assert stream.feed("hunter2 ") + stream.flush() == "*** "


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_a_secret_that_comes_in_pieces_is_hidden(size: int) -> None:
    text = "abc hunter2 and hunter2hunter2, hunte hunter2"
    stream = MaskStream(Masks(["hunter2"]))
    shown = "".join(stream.feed(text[at : at + size]) for at in range(0, len(text), size))
    shown += stream.flush()
    # Two secrets side by side may be hidden as two where they come apart.
    assert shown.replace("******", "***") == "abc *** and ***, hunte ***"


def test_only_the_possible_beginning_of_a_secret_is_held_back() -> None:
    masks = Masks(["hunter2"])
    stream = MaskStream(masks)
    assert len(stream.feed("x" * 1000)) == 1000 - (masks.longest - 1)


def test_a_stream_of_nothing_but_secrets_is_not_held_for_ever() -> None:
    stream = MaskStream(Masks(["aa"]))
    shown = [stream.feed("a" * 1000) for _ in range(10)]
    assert all(shown)
    assert set("".join(shown) + stream.flush()) == {"*"}
