# SPDX-License-Identifier: Apache-2.0
"""A Riemann server with set responses that checks every byte. It knows riemann.proto and nothing of the library that the agent
uses: every message is decoded field by field, encoded again, and has to be the same bytes."""

import socket
import ssl
import struct
import threading

from harness import PATIENCE

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
EVENT = {1: ("time", "int64"), 2: ("state", "text"), 3: ("service", "text"), 4: ("host", "text"), 5: ("description", "text"),
         7: ("tags", "texts"), 8: ("ttl", "float"), 9: ("attributes", "attributes"), 10: ("time_micros", "int64"),
         13: ("metric_sint64", "sint64"), 14: ("metric_d", "double"), 15: ("metric_f", "float")}
WIRE = {"int64": VARINT, "sint64": VARINT, "double": FIXED64, "float": FIXED32, "text": BYTES, "texts": BYTES, "attributes": BYTES}


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at
        assert shift < 70, "a number of more than ten bytes"


def varint(value):
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def fields(data):
    """(number, wire type, value) of a message, to its last byte."""
    at = 0
    while at < len(data):
        key, at = read_varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = read_varint(data, at)
        elif wire in (FIXED64, FIXED32):
            size = 8 if wire == FIXED64 else 4
            value, at = data[at:at + size], at + size
        else:
            assert wire == BYTES, f"wire type {wire}"
            size, at = read_varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size, "cut"
        assert at <= len(data), "cut"
        yield number, wire, value


def field(number, wire, value):
    return varint(number << 3 | wire) + (varint(len(value)) + value if wire == BYTES else value)


def signed(value):
    return value - (1 << 64) if value >> 63 else value


def read_event(data):
    event = {}
    for number, wire, value in fields(data):
        name, kind = EVENT[number]
        assert wire == WIRE[kind], f"{name} has wire type {wire}"
        if kind == "texts":
            event.setdefault(name, []).append(value.decode())
        elif kind == "attributes":
            key, text = [part.decode() for _, _, part in fields(value)]
            assert key not in event.setdefault(name, {}), f"{key} twice"
            event[name][key] = text
        else:
            assert name not in event, f"{name} twice"
            event[name] = {"int64": lambda: signed(value), "sint64": lambda: (value >> 1) ^ -(value & 1), "text": lambda: value.decode(),
                           "double": lambda: struct.unpack("<d", value)[0], "float": lambda: struct.unpack("<f", value)[0]}[kind]()
    return event


def event_bytes(event):
    out = b""
    for number, (name, kind) in EVENT.items():
        if name not in event:
            continue
        value = event[name]
        wire = WIRE[kind]
        if kind == "texts":
            out += b"".join(field(number, wire, text.encode()) for text in value)
        elif kind == "attributes":
            out += b"".join(field(number, wire, field(1, BYTES, key.encode()) + field(2, BYTES, text.encode())) for key, text in value.items())
        else:
            out += field(number, wire, {"int64": lambda: varint(value), "sint64": lambda: varint(value << 1 ^ value >> 63),
                                        "text": lambda: value.encode(), "double": lambda: struct.pack("<d", value),
                                        "float": lambda: struct.pack("<f", value)}[kind]())
    return out


def read_message(data):
    """The events of a message of nothing else."""
    events = []
    for number, wire, value in fields(data):
        assert (number, wire) == (6, BYTES), f"field {number} of wire type {wire} in a message of events"
        events.append(read_event(value))
    assert b"".join(field(6, BYTES, event_bytes(event)) for event in events) == data, "not the bytes that protobuf writes"
    return events


def answer(ok, error=None):
    body = field(2, VARINT, varint(int(ok))) + (field(3, BYTES, error.encode()) if error is not None else b"")
    return struct.pack(">I", len(body)) + body


OK = answer(True)


class Peer:
    """Answers each message as `script(self, events)` says: OK or other bytes; None: the connection is cut; "slow": there is no answer;
    "drip": there is one, a byte at a time. Events of messages that got OK are in `taken`, in order; `messages` are all."""

    def __init__(self, script=lambda *_: OK, certificate=None, authorities=None, port=0):
        self.script = script
        self.taken, self.messages, self.faults = [], [], []
        self.connections = 0
        self.changed = threading.Condition()
        self.ending = threading.Event()
        self.context = None
        if certificate:
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(*certificate)
            if authorities:
                self.context.verify_mode = ssl.CERT_REQUIRED
                self.context.load_verify_locations(authorities)
        self.listener = socket.create_server(("127.0.0.1", port))
        self.port = self.listener.getsockname()[1]
        self.open = set()
        self.threads = [threading.Thread(target=self._accept)]
        self.threads[0].start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            with self.changed:
                self.open.add(connection)
            self.threads.append(threading.Thread(target=self._serve, args=(connection,)))
            self.threads[-1].start()

    def _serve(self, connection):
        raw = connection
        try:
            if self.context:
                with self.changed:
                    self.open.discard(raw)
                connection = self.context.wrap_socket(raw, server_side=True)
                with self.changed:
                    self.open.add(connection)
            while not self.ending.is_set() and (header := self._receive(connection, 4)):
                body = self._receive(connection, struct.unpack(">I", header)[0])
                if body is None or not self._respond(connection, body):
                    break
        except OSError:
            pass
        finally:
            connection.close()
            with self.changed:
                self.open.discard(connection)
                self.changed.notify_all()

    @staticmethod
    def _receive(connection, size):
        data = b""
        while len(data) < size:
            piece = connection.recv(size - len(data))
            if not piece:
                return None
            data += piece
        return data

    def _respond(self, connection, body):
        with self.changed:
            try:
                events = read_message(body)
            except (AssertionError, KeyError, ValueError, IndexError) as fault:
                self.faults.append(repr(fault))
                return False
            self.messages.append(events)
            said = self.script(self, events)
            if said == OK:
                self.taken += events
            self.changed.notify_all()
        if said is None or said == "slow" and self.ending.wait(PATIENCE):
            return False
        if said == "drip":
            for byte in struct.pack(">I", 60000) + bytes(60000):
                connection.sendall(bytes([byte]))
                if self.ending.wait(0.05):
                    return False
        else:
            connection.sendall(said)
        return True

    def behave(self):
        with self.changed:
            self.script = lambda *_: OK

    def wait(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: self.faults or condition(self), PATIENCE), f"{len(self.messages)} messages"
        assert not self.faults, self.faults

    def cut(self):
        """Ends all connections, and continues listening."""
        with self.changed:
            for connection in self.open:
                self._shut(connection)

    @staticmethod
    def _shut(connection):
        try:
            connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def stop(self):
        self.ending.set()
        self._shut(self.listener)
        self.listener.close()
        with self.changed:
            self.changed.notify_all()
        self.cut()
        for thread in self.threads:
            thread.join(PATIENCE)
