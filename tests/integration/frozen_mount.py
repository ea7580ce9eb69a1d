# SPDX-License-Identifier: Apache-2.0
"""A file system whose server takes each request and never answers: a process that opens a file there waits in the kernel and cannot be killed
(state D), as with a disk or a network file system that is gone. FUSE by hand; needs root."""

import ctypes
import os
import struct
import threading

INIT, LOOKUP = 26, 1
LIBC = ctypes.CDLL(None, use_errno=True)


class FrozenMount:
    def __init__(self, folder):
        self.folder = folder
        os.mkdir(folder)
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        if LIBC.mount(b"frozen", folder.encode(), b"fuse", 0, options.encode()) != 0:
            error = ctypes.get_errno()
            os.close(self.device)
            raise OSError(error, os.strerror(error), folder)
        self.asked = threading.Event()  # somebody waits for it now, for ever
        self.server = threading.Thread(target=self._serve, daemon=True)
        self.server.start()

    def _serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 20)
            except OSError:  # unmounted
                return
            _, opcode, unique = struct.unpack_from("=IIQ", request)
            if opcode == INIT:
                answer = struct.pack("=IIIIHHI", 7, 19, 0, 0, 0, 0, 4096)
                os.write(self.device, struct.pack("=IiQ", 16 + len(answer), 0, unique) + answer)
            elif opcode == LOOKUP:
                self.asked.set()

    def end(self):
        """All that wait get an error."""
        LIBC.umount2(self.folder.encode(), 1 | 2)  # MNT_FORCE aborts the connection, MNT_DETACH needs nobody to leave
        self.server.join()
        os.close(self.device)
