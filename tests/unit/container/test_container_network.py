from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from presubmit.container.network import CA_FILE, NetworkSettings, read_network_settings

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def read(environ: Mapping[str, str], files: Mapping[str, str] | None = None) -> NetworkSettings:
    return read_network_settings(environ, read_file=dict(files or {}).get)


def test_a_bare_host_gives_nothing() -> None:
    assert read({"PATH": "/bin", "HOME": "/h", "AWS_SECRET": "x"}) == NetworkSettings()


def test_index_settings_pass() -> None:
    environ = {
        "PIP_INDEX_URL": "https://index.test/simple",
        "PIP_RETRIES": "2",
        "UV_DEFAULT_INDEX": "https://u.test",
    }
    assert read(environ).env_full == environ
    assert read(environ).env_bare == environ


def test_a_url_with_a_password_reaches_only_the_full_environment() -> None:
    found = read({"PIP_INDEX_URL": "https://bob:p%40ss@index.test/simple", "PIP_RETRIES": "2"})
    assert found.env_full["PIP_INDEX_URL"] == "https://bob:p%40ss@index.test/simple"
    assert found.env_bare == {"PIP_RETRIES": "2"}
    assert found.secrets == ("bob:p%40ss", "bob:p@ss", "p%40ss", "p@ss")


def test_a_token_alone_is_a_secret() -> None:
    found = read({"PIP_INDEX_URL": "https://tok3n@index.test/simple"})
    assert found.secrets == ("tok3n",)
    assert found.env_bare == {}


def test_only_the_url_with_credentials_is_taken_out() -> None:
    found = read({"PIP_EXTRA_INDEX_URL": "https://a.test https://u:pw@b.test"})
    assert found.env_bare == {"PIP_EXTRA_INDEX_URL": "https://a.test"}


def test_uv_credentials_are_secrets() -> None:
    found = read(
        {
            "UV_INDEX_CORP_USERNAME": "bob",
            "UV_INDEX_CORP_PASSWORD": "hush",
            "UV_INDEX": "corp=https://x:y@c.test",
        }
    )
    assert found.env_bare == {}
    assert "hush" in found.secrets
    assert "y" in found.secrets
    assert "bob" not in found.secrets


@pytest.mark.parametrize("name", ["https_proxy", "HTTPS_PROXY"])
def test_a_proxy_is_given_in_both_cases(name: str) -> None:
    found = read({name: "http://proxy.test:8080", "NO_PROXY": "localhost"})
    assert (
        found.env_bare["https_proxy"] == found.env_bare["HTTPS_PROXY"] == "http://proxy.test:8080"
    )
    assert found.env_bare["no_proxy"] == "localhost"


def test_each_case_of_a_proxy_keeps_its_own_value() -> None:
    found = read({"http_proxy": "http://a.test", "HTTP_PROXY": "http://b.test"})
    assert (found.env_full["http_proxy"], found.env_full["HTTP_PROXY"]) == (
        "http://a.test",
        "http://b.test",
    )


@pytest.mark.parametrize("proxy", ["http://u:pw@proxy.test:1", "u:pw@proxy.test:1"])
def test_a_proxy_with_a_password_is_not_bare(proxy: str) -> None:
    found = read({"HTTP_PROXY": proxy})
    assert found.env_bare == {}
    assert "pw" in found.secrets


def test_pip_files_are_read_and_the_environment_wins() -> None:
    files = {
        "/etc/pip.conf": "[global]\nindex-url = https://etc.test\ntimeout = 60\n",
        "/etc/xdg/pip/pip.conf": "[global]\nindex-url = https://xdg.test\n",
        "/h/.config/pip/pip.conf": "[install]\nextra_index_url =\n  https://one.test\n  https://two.test\ntrusted-host = a.test\n",
    }
    found = read({"HOME": "/h", "PIP_DEFAULT_TIMEOUT": "5"}, files)
    assert found.env_full == {
        "PIP_INDEX_URL": "https://etc.test",
        "PIP_EXTRA_INDEX_URL": "https://one.test https://two.test",
        "PIP_TRUSTED_HOST": "a.test",
        "PIP_DEFAULT_TIMEOUT": "5",
    }


def test_a_broken_pip_file_says_nothing() -> None:
    assert read({"HOME": "/h"}, {"/etc/pip.conf": "no section = 1\n%%"}).env_full == {}


def test_pip_config_file_devnull_switches_files_off() -> None:
    files = {"/etc/pip.conf": "[global]\nindex-url = https://etc.test\n"}
    assert read({"PIP_CONFIG_FILE": "/dev/null"}, files).env_full == {}


def test_host_paths_are_dropped_and_no_index_with_them() -> None:
    environ = {
        "PIP_FIND_LINKS": "/wheels file:///x",
        "PIP_NO_INDEX": "1",
        "PIP_EXTRA_INDEX_URL": "file:///w https://a.test",
    }
    assert read(environ).env_full == {"PIP_EXTRA_INDEX_URL": "https://a.test"}


def test_the_named_bundle_is_mounted_and_every_variable_points_at_it() -> None:
    found = read(
        {"REQUESTS_CA_BUNDLE": "/corp/ca.pem"},
        {"/corp/ca.pem": "x", "/etc/ssl/certs/ca-certificates.crt": "y"},
    )
    assert [(mount.source, mount.target, mount.read_only) for mount in found.mounts] == [
        ("/corp/ca.pem", CA_FILE, True)
    ]
    assert set(found.env_bare) == {
        "SSL_CERT_FILE",
        "REQUESTS_CA_BUNDLE",
        "PIP_CERT",
        "CURL_CA_BUNDLE",
        "GIT_SSL_CAINFO",
        "NODE_EXTRA_CA_CERTS",
    }
    assert set(found.env_bare.values()) == {CA_FILE}


def test_a_named_bundle_that_is_missing_gives_way_to_the_systems() -> None:
    found = read({"SSL_CERT_FILE": "/gone"}, {"/etc/ssl/certs/ca-certificates.crt": "y"})
    assert found.mounts[0].source == "/etc/ssl/certs/ca-certificates.crt"


def test_odd_values_do_not_break_anything() -> None:
    found = read({"HTTP_PROXY": "http://[u:p@x", "PIP_INDEX_URL": "", "NO_PROXY": "*"})
    assert found.env_bare["NO_PROXY"] == "*"
    assert "PIP_INDEX_URL" not in found.env_full


def test_files_are_read_from_disk_by_default(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("x")
    (tmp_path / "pip.conf").write_text("[global]\nindex-url = https://named.test\n")
    found = read_network_settings(
        {"SSL_CERT_FILE": str(tmp_path / "ca.pem"), "PIP_CONFIG_FILE": str(tmp_path / "pip.conf")}
    )
    assert found.mounts[0].source == str(tmp_path / "ca.pem")
    assert found.env_full["PIP_INDEX_URL"] == "https://named.test"
