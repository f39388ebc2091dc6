#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a command as in a plain container, or on a kernel that lacks a feature.

    view.py container COMMAND...    no new namespaces and mounts, and root has the capabilities that
                                    Docker and Podman leave it
    view.py landlock COMMAND...     no Landlock
    view.py ptrace COMMAND...       no ptrace
    view.py container+ptrace ...    both

A filter of system calls refuses them, for an ordinary user as well as for root.
"""
import ctypes
import os
import platform
import struct
import sys

EPERM, ENOSYS = 1, 38
LOAD, EQUAL, ANY_BIT, RET = 0x20, 0x15, 0x45, 0x06
NAMESPACES = 0x7e020000  # the flags of clone that make one
ALLOW, REFUSE = 0x7fff0000, 0x50000
CLONE = {"x86_64": 56, "aarch64": 220}
# View: system calls and the error they end with, per machine where the numbers differ.
CALLS = {
    "container": [
        ({"x86_64": 272, "aarch64": 97}, EPERM),  # unshare
        ({"x86_64": 308, "aarch64": 268}, EPERM),  # setns
        ({"x86_64": 165, "aarch64": 40}, EPERM),  # mount
        ({"x86_64": 166, "aarch64": 39}, EPERM),  # umount2
        ({"x86_64": 155, "aarch64": 41}, EPERM),  # pivot_root
        (435, ENOSYS),  # clone3, whose flags a filter cannot see
        (428, EPERM), (429, EPERM), (430, EPERM), (442, EPERM)],  # open_tree, move_mount, fsopen, mount_setattr
    "landlock": [(444, ENOSYS), (445, ENOSYS), (446, ENOSYS)],
    "ptrace": [({"x86_64": 101, "aarch64": 117}, EPERM)],
}
# chown, dac_override, fowner, fsetid, kill, setgid, setuid, setpcap, net_bind_service, net_raw,
# sys_chroot, mknod, audit_write, setfcap
CONTAINER_CAPABILITIES = sum(1 << n for n in (0, 1, 3, 4, 5, 6, 7, 8, 10, 13, 18, 27, 29, 31))


def steps(views):
    """The filter as a list of (code, jump if true, jump if false, operand)."""
    machine = platform.machine()
    code = [(LOAD, 0, 0, 0)]
    for view in views:
        for number, error in CALLS[view]:
            number = number[machine] if isinstance(number, dict) else number
            code += [(EQUAL, 0, 1, number), (RET, 0, 0, REFUSE | error)]
    if "container" in views:
        code += [(EQUAL, 0, 3, CLONE[machine]), (LOAD, 0, 0, 16), (ANY_BIT, 0, 1, NAMESPACES),
                 (RET, 0, 0, REFUSE | EPERM)]
    return code + [(RET, 0, 0, ALLOW)]


def enter(*views):
    """The calling process, and what it starts, have the views from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    code = b"".join(struct.pack("HBBI", *step) for step in steps(views))
    keep = ctypes.create_string_buffer(code)
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(keep))
    # root may do it without giving up programs such as sudo, as in a container
    if libc.prctl(22, 2, program, 0, 0) and (libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, program, 0, 0)):
        os._exit(99)
    if "container" in views and os.geteuid() == 0:
        keep_capabilities(libc, CONTAINER_CAPABILITIES)


def keep_capabilities(libc, mask):
    for number in range(64):
        if not mask >> number & 1:
            libc.prctl(24, number, 0, 0, 0)  # PR_CAPBSET_DROP
    header = struct.pack("Ii", 0x20080522, 0)
    low, high = mask & 0xffffffff, mask >> 32
    if libc.capset(header, struct.pack("6I", low, low, 0, high, high, 0)):
        os._exit(99)


if __name__ == "__main__":
    enter(*sys.argv[1].split("+"))
    os.execvp(sys.argv[2], sys.argv[2:])
