"""The system calls of a box for benchmarks: fixed addresses and counters are allowed, what the engine refuses is not."""

from __future__ import annotations

import json
from typing import Final

# What the engine's default profile refuses without a capability (docs.docker.com/engine/security/seccomp, "Significant
# syscalls blocked by the default profile"), but for `personality` and `perf_event_open`, which this profile is for.
# Like that one it lets a process trace its own children (`ptrace`, `process_vm_readv`): Linux 4.8 made that safe.
_REFUSED: Final = (
    *("acct", "add_key", "bpf", "clock_adjtime", "clock_settime", "create_module"),
    *(
        "delete_module",
        "finit_module",
        "fsconfig",
        "fsmount",
        "fsopen",
        "fspick",
        "get_kernel_syms",
    ),
    *("get_mempolicy", "init_module", "io_uring_enter", "io_uring_register", "io_uring_setup"),
    *("ioperm", "iopl", "kexec_file_load", "kexec_load", "keyctl", "lookup_dcookie"),
    *("mbind", "mount", "mount_setattr", "move_mount", "move_pages", "name_to_handle_at"),
    *(
        "nfsservctl",
        "open_by_handle_at",
        "open_tree",
        "pivot_root",
        "query_module",
        "quotactl",
        "quotactl_fd",
        "reboot",
    ),
    *("request_key", "set_mempolicy", "set_mempolicy_home_node", "setdomainname", "sethostname"),
    *("setns", "settimeofday", "stime", "swapoff", "swapon", "sysfs", "syslog", "_sysctl"),
    *(
        "umount",
        "umount2",
        "unshare",
        "uselib",
        "userfaultfd",
        "ustat",
        "vhangup",
        "vm86",
        "vm86old",
    ),
)
_NAMESPACES: Final = 0x7E020000
"""The flags of `clone` that make namespaces (CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET)."""
_EPERM: Final = 1
_ENOSYS: Final = 38


def bench_profile() -> str:
    """Give the profile as the engine takes it: JSON, after `linux.seccomp` of the OCI runtime specification."""
    architectures = [
        {
            "architecture": "SCMP_ARCH_X86_64",
            "subArchitectures": ["SCMP_ARCH_X86", "SCMP_ARCH_X32"],
        },
        {"architecture": "SCMP_ARCH_AARCH64", "subArchitectures": ["SCMP_ARCH_ARM"]},
    ]
    return json.dumps(
        {"defaultAction": "SCMP_ACT_ALLOW", "archMap": architectures, "syscalls": _rules()}
    )


def _rules() -> list[dict[str, object]]:
    """Refuse calls by name, `clone` by each flag that makes a namespace, and `clone3`, whose flags cannot be seen."""
    refuse: dict[str, object] = {"action": "SCMP_ACT_ERRNO", "errnoRet": _EPERM}
    bits = [1 << number for number in range(32) if _NAMESPACES >> number & 1]
    flags = [
        {
            "names": ["clone"],
            "args": [{"index": 0, "value": bit, "valueTwo": bit, "op": "SCMP_CMP_MASKED_EQ"}],
            **refuse,
        }
        for bit in bits
    ]
    # The C library falls back to `clone` where `clone3` is not there.
    newer = {"names": ["clone3"], "action": "SCMP_ACT_ERRNO", "errnoRet": _ENOSYS}
    return [{"names": list(_REFUSED), **refuse}, *flags, newer]
