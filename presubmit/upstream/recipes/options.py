"""Takes a command line's options apart; only the tool that it is for knows which of them take a value."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from presubmit.upstream.recipes.shell_words import Word

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence


class Option(NamedTuple):
    """`--name value`, `--name=value`, `-n value` or `-nvalue`."""

    name: str
    value: Word | None = None


class Parsed(NamedTuple):
    """Options and other words, each in order; `rest` is everything after the options of a wrapper, or after `--`."""

    options: tuple[Option, ...]
    words: tuple[Word, ...]
    rest: tuple[Word, ...]

    def values(self, *names: str) -> tuple[str, ...]:
        """Give the values of an option that are known, in order."""
        found = (o.value for o in self.options if o.name in names and o.value is not None)
        return tuple(word.text for word in found if word.literal)

    def has(self, *names: str) -> bool:
        """Whether one of these options is given."""
        return any(option.name in names for option in self.options)


def parse(words: Sequence[Word], valued: Collection[str]) -> Parsed:
    """Take apart a line in which options and words may stand in any order; `rest` is what follows `--`."""
    options: list[Option] = []
    others: list[Word] = []
    position = 0
    while position < len(words):
        word = words[position]
        position += 1
        if word.text == "--":
            return Parsed(tuple(options), tuple(others), tuple(words[position:]))
        if not word.text.startswith("-") or word.text == "-":
            others.append(word)
            continue
        following = words[position] if position < len(words) else None
        found = list(_options(word, following, valued))
        position += found[-1].value is not None and found[-1].value is following
        options += found
    return Parsed(tuple(options), tuple(others), ())


def parse_wrapper(words: Sequence[Word], valued: Collection[str]) -> Parsed:
    """Take apart the options before a wrapped command; `rest` is that command."""
    options: list[Option] = []
    position = 0
    while position < len(words):
        word = words[position]
        if word.text == "--":
            position += 1
            break
        if not word.text.startswith("-") or word.text == "-":
            break
        position += 1
        following = words[position] if position < len(words) else None
        found = list(_options(word, following, valued))
        position += found[-1].value is not None and found[-1].value is following
        options += found
    return Parsed(tuple(options), (), tuple(words[position:]))


def _options(word: Word, following: Word | None, valued: Collection[str]) -> Iterator[Option]:
    """Give the option or options of one word; the value may be the following word itself."""
    text = word.text
    if text.startswith("--") or text in valued:
        name, equals, value = text.partition("=")
        if equals:
            yield Option(name, Word(text=value, literal=word.literal, pattern=word.pattern))
        else:
            yield Option(name, following if name in valued else None)
        return
    for at in range(1, len(text)):
        name = f"-{text[at]}"
        if name in valued:
            value = text[at + 1 :].removeprefix("=") if at == 1 else text[at + 1 :]
            attached = Word(text=value, literal=word.literal, pattern=word.pattern)
            yield Option(name, attached if text[at + 1 :] else following)
            return
        yield Option(name)
