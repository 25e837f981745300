"""Reads how this host reaches package indexes, so that a box can do the same; credentials are told apart."""

from __future__ import annotations

import configparser
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from presubmit.container.model import BoxMount
from presubmit.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

CA_FILE: Final = "/etc/presubmit/ca.pem"
"""Where a box finds the host's certificate authorities."""
_CA_SOURCES: Final = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT", "CURL_CA_BUNDLE")
_CA_TARGETS: Final = (*_CA_SOURCES, "GIT_SSL_CAINFO", "NODE_EXTRA_CA_CERTS")
_SYSTEM_BUNDLES: Final = (
    "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Alpine, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, RHEL
    "/etc/ssl/ca-bundle.pem",  # openSUSE
    "/etc/ssl/cert.pem",  # macOS, Alpine
)
_INDEX_VARIABLES: Final = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "PIP_TRUSTED_HOST",
    "PIP_FIND_LINKS",
    "PIP_NO_INDEX",
    "PIP_DEFAULT_TIMEOUT",
    "PIP_RETRIES",
    "UV_INDEX_URL",
    "UV_EXTRA_INDEX_URL",
    "UV_DEFAULT_INDEX",
    "UV_INDEX",
    "UV_INSECURE_HOST",
    "UV_FIND_LINKS",
    "UV_HTTP_TIMEOUT",
)
# uv names the credentials of an index apart: UV_INDEX_<NAME>_USERNAME and _PASSWORD.
_UV_CREDENTIAL: Final = re.compile(r"UV_INDEX_.+_(USERNAME|PASSWORD)")
_PROXY_VARIABLES: Final = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "NO_PROXY")
_PIP_OPTIONS: Final = {
    "index-url": "PIP_INDEX_URL",
    "extra-index-url": "PIP_EXTRA_INDEX_URL",
    "trusted-host": "PIP_TRUSTED_HOST",
    "timeout": "PIP_DEFAULT_TIMEOUT",
    "retries": "PIP_RETRIES",
}
_URL: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://\S+")
_PATH_MARKS: Final = ("/", "~", "./", "../", "file:")


class NetworkSettings(Value, frozen=True):
    """How a box reaches the network as its host does."""

    env_full: dict[str, str] = {}
    """With credentials: only for the stage that downloads dependencies, in which no project code runs."""
    env_bare: dict[str, str] = {}
    """Without anything that carries credentials."""
    secrets: tuple[str, ...] = ()
    """What to mask in all output."""
    mounts: tuple[BoxMount, ...] = ()
    """The host's certificate authorities, read-only."""


def read_network_settings(
    environ: Mapping[str, str], *, read_file: Callable[[str], str | None] | None = None
) -> NetworkSettings:
    """Read the host's index, proxy and certificate settings from its environment and pip's files.

    `read_file` gives a file's text, None where there is none; a test gives its own.
    """
    read = read_file or _read_text
    found = {
        name: kept
        for name, value in _settings(environ, read).items()
        if (kept := without_host_paths(value))
    }
    if "PIP_FIND_LINKS" not in found:
        # A host folder of wheels was dropped: without an index nothing could be installed at all.
        found.pop("PIP_NO_INDEX", None)
    secrets = tuple(
        dict.fromkeys(secret for name, value in found.items() for secret in _secrets(name, value))
    )
    bundle = _bundle(environ, read)
    authorities = dict.fromkeys(_CA_TARGETS, CA_FILE) if bundle else {}
    bare = {
        name: kept for name, value in found.items() if (kept := without_credentials(name, value))
    }
    return NetworkSettings(
        env_full={**found, **authorities},
        env_bare={**bare, **authorities},
        secrets=secrets,
        mounts=(BoxMount(source=bundle, target=CA_FILE, read_only=True),) if bundle else (),
    )


def host_network_settings(environ: Mapping[str, str]) -> NetworkSettings:
    """Give the same for the host itself: paths mean there what they say, and pip reads its own files."""
    found = {
        name: value
        for name, value in environ.items()
        if name in {*_INDEX_VARIABLES, *_CA_TARGETS}
        or _UV_CREDENTIAL.fullmatch(name)
        or (name.upper() in _PROXY_VARIABLES and name in {name.upper(), name.lower()})
    }
    secrets = (secret for name, value in found.items() for secret in _secrets(name, value))
    bare = {
        name: kept for name, value in found.items() if (kept := without_credentials(name, value))
    }
    return NetworkSettings(env_full=found, env_bare=bare, secrets=tuple(dict.fromkeys(secrets)))


def without_host_paths(value: str) -> str:
    """Drop the words of a setting that are paths or file URLs: they mean nothing inside a box."""
    return " ".join(word for word in value.split() if not word.startswith(_PATH_MARKS))


def without_credentials(name: str, value: str) -> str:
    """Drop the words of a setting that carry credentials; empty if nothing is left."""
    if _UV_CREDENTIAL.fullmatch(name):
        return ""
    return " ".join(word for word in value.split() if not _userinfo(word))


def _settings(environ: Mapping[str, str], read: Callable[[str], str | None]) -> dict[str, str]:
    """Collect the settings by their variables' names; the environment beats the files, later files earlier ones."""
    found: dict[str, str] = {}
    for path in _pip_files(environ):
        found |= _pip_settings(read(path) or "")
    for name, value in environ.items():
        upper = name.upper()
        if name in _INDEX_VARIABLES or _UV_CREDENTIAL.fullmatch(name):
            found[name] = value
        elif upper in _PROXY_VARIABLES and name in {upper, upper.lower()}:
            # Programs differ in which case they read.
            found.setdefault(upper, value)
            found.setdefault(upper.lower(), value)
            found[name] = value
    return found


def _pip_files(environ: Mapping[str, str]) -> Iterator[str]:
    """Give pip's configuration files in the order in which it reads them."""
    if environ.get("PIP_CONFIG_FILE") == os.devnull:
        return
    for folder in reversed(environ.get("XDG_CONFIG_DIRS", "/etc/xdg").split(":")):
        yield f"{folder.rstrip('/')}/pip/pip.conf"
    yield "/etc/pip.conf"
    home = environ.get("HOME", "")
    if home:
        yield f"{home}/.pip/pip.conf"
        yield f"{environ.get('XDG_CONFIG_HOME') or home + '/.config'}/pip/pip.conf"
    if named := environ.get("PIP_CONFIG_FILE"):
        yield named


def _pip_settings(text: str) -> dict[str, str]:
    """Read what `[global]`, and over it `[install]`, say of indexes; a file that cannot be read says nothing."""
    parser = configparser.RawConfigParser(strict=False)
    try:
        parser.read_string(text)
    except configparser.Error:
        return {}
    found: dict[str, str] = {}
    for section in ("global", "install"):
        for option, value in parser.items(section) if parser.has_section(section) else ():
            variable = _PIP_OPTIONS.get(option.replace("_", "-"))
            if variable is not None and value:
                found[variable] = " ".join(value.split())
    return found


def _bundle(environ: Mapping[str, str], read: Callable[[str], str | None]) -> str:
    """Find the host's certificate authorities; empty where it has none."""
    named = [environ[name] for name in _CA_SOURCES if environ.get(name)]
    return next((path for path in (*named, *_SYSTEM_BUNDLES) if read(path)), "")


def _secrets(name: str, value: str) -> Iterator[str]:
    """Give what must not be shown of a setting: whole userinfos, passwords and tokens, as written and decoded."""
    if _UV_CREDENTIAL.fullmatch(name):
        if name.endswith("_PASSWORD"):
            yield from dict.fromkeys((value, unquote(value)))
        return
    for word in value.split():
        user, separator, password = _userinfo(word).partition(":")
        # A name without a password is a token (`https://TOKEN@index/`); one with an empty password is one, too.
        hidden = password or user
        if hidden:
            whole = f"{user}{separator}{password}"
            yield from dict.fromkeys(
                text for part in (whole, hidden) for text in (part, unquote(part))
            )


def _userinfo(word: str) -> str:
    """Give the `user:password` of a URL (also of uv's `name=URL`, and of a proxy without a scheme)."""
    match = _URL.search(word)
    text = match[0] if match else f"//{word}"
    try:
        return urlsplit(text).netloc.rpartition("@")[0]
    except ValueError:
        return ""


def _read_text(path: str) -> str | None:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
