# SPDX-License-Identifier: Apache-2.0
"""Known ways out of a Lua sandbox, tried in a pipeline file: while it is evaluated (`atalaya check`) and in an inline function
(`atalaya test`). Each ends in an error that names the line, within the kernel's limits of time and memory set here, and strace sees
that nothing was written, started or connected."""

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = os.environ.get("ATALAYA", "build/release/atalaya")
PROCESSOR_SECONDS = 20   # evaluating may compute for 2 s, a function for 50 ms
ADDRESSES = 1 << 30      # a Lua state may have 64 MiB
SECRET = "canary-of-another-file"

TIMEOUT = r"stopped after (2s|50ms) of computing; is there an endless loop\?"
MEMORY = "more memory than a pipeline file may use: 64 MiB in all, 1 MiB in one string"
PATTERN = "pattern too expensive"
UNKNOWN = 'unknown name "{}"'
NIL = "attempt to call a nil value .*"
MODULE = '".*" is not the name of a module; write letters, digits and _, with dots between folders'
NO_MODULE = "there is no module \".*\" in atalaya's library or next to this file"
GROWTH = "(" + MEMORY + "|" + TIMEOUT + ")"  # whichever limit is met first
GC = "__gc is not available in pipeline files"
WEAK = "__mode is not available in pipeline files"
LATE = "{} has no effect after setmetatable: set it before"
CHAIN = "local first = k for i = 1, 200000 do local n = {} t[k] = n k = n end for i = 1, 50 do local s = ('x'):rep(1000000) .. i end"
DEEP = "(stack overflow.*|.*C stack overflow.*|error in error handling|" + GROWTH + ")"

# name, code of the attempt (its first line is line 3 of the file), expected error, and its line if not that one
ATTEMPTS = [
    # Unchecked code, and code that it would open.
    ("dumped bytecode", "string.dump(function() end)", NIL),
    ("bytecode by load", r'load("\27Lua")', UNKNOWN.format("load")),
    ("text by load", 'load("return 1")()', UNKNOWN.format("load")),
    ("text by loadstring", 'loadstring("return 1")()', UNKNOWN.format("loadstring")),
    ("a file by dofile", 'dofile "/etc/passwd"', UNKNOWN.format("dofile")),
    ("a file by loadfile", 'loadfile "/etc/passwd"', UNKNOWN.format("loadfile")),
    ("bytecode as a module", 'require "bytecode"', "attempt to load a binary chunk.*"),
    ("functions of the upper level by debug", "debug.getregistry()", UNKNOWN.format("debug")),
    ("upvalues by debug", "debug.setupvalue(print, 1, 1)", UNKNOWN.format("debug")),
    ("debug by require", 'require "debug"', NO_MODULE),
    ("io by require", 'require "io"', NO_MODULE),
    ("os by require", 'require("os").execute("true")', NO_MODULE),
    ("io by package.loaded", "package.loaded.io.open('/etc/passwd')", UNKNOWN.format("package")),
    ("a library by package.loadlib", "package.loadlib('libc.so.6', 'system')", UNKNOWN.format("package")),
    ("searchers of require", "require = nil; package.searchers[1]('io')", UNKNOWN.format("package")),
    ("os.execute", "os.execute('touch escaped')", NIL),
    ("os.exit", "os.exit(0)", NIL),
    ("os.remove", "os.remove('pipeline.lua')", NIL),
    ("os.rename", "os.rename('pipeline.lua', 'escaped')", NIL),
    ("os.tmpname", "os.tmpname()", NIL),
    ("os.setlocale", "os.setlocale('C')", NIL),
    ("io.popen", "io.popen('touch escaped')", UNKNOWN.format("io")),
    ("the old environment", "setfenv(1, {})", UNKNOWN.format("setfenv")),
    ("the garbage collector", "collectgarbage('stop')", UNKNOWN.format("collectgarbage")),
    ("coroutines, which no hook reaches", "coroutine.wrap(function() while true do end end)()", UNKNOWN.format("coroutine")),
    ("a coroutine by a name of its own", "_G['corout' .. 'ine'].create(print)", UNKNOWN.format("coroutine")),
    ("raw access to the globals", "rawget(_G, 'io').open('x')", "attempt to index a nil value"),
    # Metatables that others share.
    ("the methods of strings", 'getmetatable("").__index = {}', "attempt to index a boolean value"),
    ("a method of all strings", 'getmetatable("").__index.rep = nil', "attempt to index a boolean value"),
    ("a metatable for strings", 'setmetatable("", {})', "bad argument #1 to 'setmetatable' .*"),
    ("the globals' metatable", "getmetatable(_G).__index = nil", "attempt to index a boolean value"),
    ("another metatable for the globals", "setmetatable(_G, {})", "cannot change a protected metatable"),
    ("the library's constructors", "require('atalaya').source.evil = print",
     "components come from plugins; they cannot be set in a pipeline file"),
    # Modules from elsewhere.
    ("a module above", 'require "../secret"', MODULE),
    ("a module above, with dots", 'require "..secret"', MODULE),
    ("a module by its path", 'require "/etc/passwd"', MODULE),
    ("a module with a zero in its name", r'require "x\0y"', "(" + NO_MODULE + "|" + MODULE + ")"),
    ("a module behind a link", 'require "link"',
     r'.*/link\.lua leads out of the folder of the pipeline file; put the file itself there'),
    ("a module in a folder behind a link", 'require "away.secret"',
     r'.*/away/secret\.lua leads out of the folder of the pipeline file; put the file itself there'),
    ("a module that is a device", 'require "device"', r".*/device\.lua (leads out .*|is not a regular file)"),
    ("a module that is a pipe", 'require "pipe"', r".*/pipe\.lua is not a regular file"),
    # Loops.
    ("an endless loop", "while true do end", TIMEOUT),
    ("a loop of jumps", "::again:: goto again", TIMEOUT),
    ("a loop around pcall", "while true do pcall(function() while true do end end) end", TIMEOUT),
    ("a loop that catches its end", "while true do pcall(error) end", TIMEOUT),
    ("a handler that loops", "xpcall(error, function() while true do end end)", TIMEOUT),
    ("a handler that fails, in a loop", "while true do pcall(xpcall, error, error) end", TIMEOUT),
    ("__index that loops", "local t = setmetatable({}, { __index = function() while true do end end }) local x = t.y", TIMEOUT),
    ("__newindex that loops", "setmetatable({}, { __newindex = function() while true do end end }).y = 1", TIMEOUT),
    ("__eq that loops", "local m = { __eq = function() while true do end end } "
     "local x = setmetatable({}, m) == setmetatable({}, m)", TIMEOUT),
    ("__concat that loops", "local x = setmetatable({}, { __concat = function() while true do end end }) .. ''", TIMEOUT),
    ("__call that loops", "setmetatable({}, { __call = function() while true do end end })()", TIMEOUT),
    ("__pairs that loops", "for k in pairs(setmetatable({}, { __pairs = function() return function() return 1 end end })) do end",
     TIMEOUT),
    ("__len that loops", "local x = #setmetatable({}, { __len = function() while true do end end })", TIMEOUT),
    ("__tostring that loops", "print(setmetatable({}, { __tostring = function() while true do end end }))", TIMEOUT),
    ("__lt that loops in a sort", "local m = { __lt = function() while true do end end } "
     "table.sort({ setmetatable({}, m), setmetatable({}, m) })", TIMEOUT),
    ("__close that loops", "local x <close> = setmetatable({}, { __close = function() while true do end end })", TIMEOUT),
    ("__close that loops after an error",
     "local x <close> = setmetatable({}, { __close = function() while true do end end }) error('first')", TIMEOUT),
    ("a finalizer that loops", "setmetatable({}, { __gc = function() while true do end end })", GC),
    ("a finalizer that is set later", "local m = {} setmetatable({}, m) m.__gc = function() while true do end end "
     "local t = setmetatable({}, m)", LATE.format("__gc")),
    ("a chain through weak keys", "local t, k = setmetatable({}, { __mode = 'k' }), {} " + CHAIN, WEAK),
    ("a chain through keys that become weak", "local m, k = {}, {} local t = setmetatable({}, m) m['__mo' .. 'de'] = 'k' " + CHAIN,
     LATE.format("__mode")),
    ("a chain through keys that rawset makes weak", "local m, k = {}, {} local t = setmetatable({}, m) rawset(m, '__mode', 'k') "
     + CHAIN + " error('strong')", "(strong|" + TIMEOUT + ")"),
    ("a finalizer by rawset", "local m = {} rawset(m, '__gc', function() end) setmetatable({}, m)", GC),
    ("an order that loops", "table.sort({ 3, 1, 2 }, function() while true do end end)", TIMEOUT),
    ("an inconsistent order, on a list with a false length",
     "table.sort(setmetatable({}, { __len = function() return 1 << 40 end, __index = function() return 1 end, "
     "__newindex = function() end }), function() return true end)", TIMEOUT),
    ("a replacement that loops", "('aaa'):gsub('a', function() while true do end end)", TIMEOUT),
    ("an error object that loops as text",
     "error(setmetatable({}, { __tostring = function() while true do end end }))", "a table was raised as an error"),
    ("an error object with a false name",
     "error(setmetatable({}, { __name = ('x'):rep(1000), __tostring = error }))", "a table was raised as an error"),
    # Work in C, which no hook sees.
    ("a pattern that goes back", "('a'):rep(400):find('.-.-.-.-b')", PATTERN),
    ("a pattern that goes back in gsub", "('a'):rep(400):gsub('.-.-.-.-b', '')", PATTERN),
    ("a pattern that goes back in gmatch", "for x in ('a'):rep(400):gmatch('.-.-.-.-b') do end", PATTERN),
    ("a pattern of brackets", "('('):rep(100000):find('%b()')", PATTERN),
    ("a pattern that nests", "('a'):rep(1000):find(('(a?'):rep(300))", "(pattern too complex|too many captures)"),
    ("long texts joined in a loop", "local t = {} for i = 1, 1e5 do t[i] = 'xxxxxxxxxx' end while true do table.concat(t) end",
     TIMEOUT),
    ("long texts compared in a loop", "local s, t = ('x'):rep(1e6), ('x'):rep(1e6) .. 'y' while true do local b = s < t end",
     TIMEOUT),
    ("a list without end joined", "table.concat({}, '', 1, 1 << 60)", "too many elements to concatenate"),
    ("a list without end unpacked", "table.unpack({}, 1, 1 << 60)", "too many results to unpack"),
    ("a number of many digits", "while true do tonumber(('1'):rep(1e6)) end", TIMEOUT),
    # Memory.
    ("a text that is repeated", "('x'):rep(1 << 60)", "the resulting string is longer than 1048576 bytes"),
    ("a text that is repeated with a separator", "('x'):rep(1 << 20, ('y'):rep(1 << 20))",
     "the resulting string is longer than 1048576 bytes"),
    ("a text that doubles", "local s = 'x' while true do s = s .. s end", GROWTH),
    ("a text by format", "local s = ('x'):rep(1e6) local t = s:format() .. s", GROWTH),
    ("a text by gsub", "('x'):rep(1e6):gsub('x', ('y'):rep(1000))", GROWTH),
    ("a text by concat", "local t = {} for i = 1, 100 do t[i] = ('x'):rep(1e5) end table.concat(t)", GROWTH),
    ("a width in a format", "('%1000000000d'):format(1)", "invalid conversion.*"),
    ("packed padding", "string.pack('!16 i16 Xi16 c1000000000', 1, '')", "(.*(more memory than|too|out of limits).*|stopped after .*)"),
    ("a list that grows", "local t = {} for i = 1, 1e12 do t[i] = i end", GROWTH),
    ("a list that is filled by its size", "local t = table.pack(('x'):rep(1e5):byte(1, -1)) "
     "while true do t = { t, table.unpack(t) } end", "(" + GROWTH + "|string slice too long.*|too many results to unpack)"),
    ("tables in tables", "local t = {} while true do t = { t } end", GROWTH),
    ("functions in functions", "local f = print while true do local g = f f = function() return g end end", GROWTH),
    ("memory behind pcall", "local t = {} while true do pcall(function() for i = 1, 1e9 do t[#t + 1] = ('x'):rep(1e5) .. i end end) "
     "end", GROWTH),
    # Stacks.
    ("recursion", "local function f() return 1 + f() end f()", DEEP),
    ("recursion in C, by gsub", "local function f() return (('x'):gsub('x', f)) end f()", DEEP),
    ("recursion in C, by pcall", "local function f() return select(2, assert(pcall(f))) end f()", ".*"),
    ("recursion in C, by __tostring", "local m = {} m.__tostring = function(t) return tostring(t) end "
     "tostring(setmetatable({}, m))", DEEP),
    ("recursion in C, by sort", "local function f(x, y) table.sort({ 1, 2, 3 }, f) return false end f()", DEEP),
    ("recursion by __index", "local m = {} m.__index = function(t, k) return t[k .. 'x'] end local x = setmetatable({}, m).y",
     DEEP),
    ("a circle of __index", "local t = {} setmetatable(t, { __index = t }) local x = t.y",
     "'__index' chain too long; possible loop.*"),
    ("recursion in the handler of errors", "xpcall(error, function(e) error(e) end) error('went on')", ".*"),
    ("many arguments", "print(table.unpack({}, 1, 999999))", "(too many results to unpack|.*stack overflow.*)"),
]

EVALUATED = """local a = require "atalaya"
local function attempt()
ATTEMPT
end
attempt()
a.pipeline "p" { every = "1s", a.source.self {}, a.sink.stdout {} }
"""
INLINE = """local a = require "atalaya"
local function attempt(s)
ATTEMPT
return s end
a.pipeline "p" { every = "1s", a.source.self {}, attempt, a.sink.stdout {} }
a.test "t" { pipeline = "p", input = { { tags = { x = "y" }, fields = { ["m.x"] = 1 } } }, expect = {} }
"""

# Ways out, among the system calls of `atalaya check` and `atalaya test`.
FORBIDDEN = re.compile(r"^\d* *(socket|connect|bind|sendto|sendmsg|unlink\w*|rename\w*|mkdir\w*|link\w*|symlink\w*|truncate|chmod|fchmodat|"
                       r"chown|mknod\w*|kill|ptrace)\(|^\d* *open\w*\(.*O_(WRONLY|RDWR|CREAT|TRUNC)|^\d* *(fork|vfork|execve\w*)\(")


def limits():
    resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR_SECONDS, PROCESSOR_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class LuaEscapes(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix="atalaya-test-")
        self.addCleanup(self.temporary.cleanup)
        self.outside = os.path.join(self.temporary.name, "outside")
        self.folder = os.path.join(self.temporary.name, "inside")
        for path in (self.outside, self.folder):
            os.mkdir(path)
        with open(os.path.join(self.outside, "secret.lua"), "w") as file:
            file.write(f"error '{SECRET}'")
        os.symlink(os.path.join(self.outside, "secret.lua"), os.path.join(self.folder, "link.lua"))
        os.symlink(self.outside, os.path.join(self.folder, "away"))
        os.symlink("/dev/zero", os.path.join(self.folder, "device.lua"))
        os.mkfifo(os.path.join(self.folder, "pipe.lua"))
        with open(os.path.join(self.folder, "bytecode.lua"), "wb") as file:
            file.write(b"\x1bLua\x54\x00\x19\x93\r\n\x1a\n")
        self.file = os.path.join(self.folder, "pipeline.lua")
        self.before = set(os.listdir(self.folder))

    def atalaya(self, verb, text, *wrapper):
        with open(self.file, "w") as file:
            file.write(text)
        # In another environment, so that a relative path would not land in this tree.
        done = subprocess.run([*wrapper, os.path.abspath(BINARY), verb, self.file], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", preexec_fn=limits, check=False)
        self.assertNotIn(SECRET, done.stdout + done.stderr)
        self.assertEqual(set(os.listdir(self.folder)) - self.before, {"pipeline.lua"})
        return done

    def assert_error(self, done, prefix, expected, status):
        self.assertEqual(done.returncode, status, done.stderr[:2000])
        first = (done.stderr + done.stdout).partition("\n")[0]
        self.assertTrue(first.startswith(prefix + self.file + ":3: "), first)
        self.assertRegex(first[len(prefix + self.file + ":3: "):], "^(" + expected + ")$")

    def test_while_the_file_is_evaluated(self):
        # Each loop takes its two seconds: some of them, as the limit is that of functions with another number.
        loops = [attempt for attempt in ATTEMPTS if attempt[2] == TIMEOUT]
        for name, attempt, expected in [attempt for attempt in ATTEMPTS if attempt not in loops] + loops[::6]:
            with self.subTest(name):
                self.assert_error(self.atalaya("check", EVALUATED.replace("ATTEMPT", attempt)), "", expected, 2)

    def test_in_an_inline_function(self):
        for name, attempt, expected in ATTEMPTS:
            with self.subTest(name):
                done = self.atalaya("test", INLINE.replace("ATTEMPT", attempt))
                if expected == PATTERN:  # a machine that is slow just then meets the limit of a call first
                    expected = "(" + PATTERN + "|" + TIMEOUT + ")"
                # The function failed, so its sample is dropped, as this test of the file expects.
                self.assert_error(done, f'{self.file}:6: test "t": pipeline "p": function failed: ', expected, 0)

    def test_functions_cannot_change_the_values_of_others(self):
        """Changes of a function to the libraries are limited to its file: they end with the file."""
        text = INLINE.replace("ATTEMPT", "string.rep = nil; table.concat = nil; tostring = nil; require = nil; _G.type = nil")
        self.assertEqual(self.atalaya("check", text).returncode, 0)

    @unittest.skipUnless(shutil.which("strace"), "strace is not installed")
    def test_nothing_outside_is_touched(self):
        for verb, frame in (("check", EVALUATED), ("test", INLINE)):
            # All in one file: each in a separate pcall. Attempts that would use up the time are left to the tests above.
            quick = [attempt for _, attempt, expected in ATTEMPTS if expected not in (TIMEOUT, GROWTH)]
            body = " ".join(f"pcall(function() {attempt} end)" for attempt in quick)
            trace = os.path.join(self.temporary.name, "trace")
            done = self.atalaya(verb, frame.replace("ATTEMPT", body), "strace", "-f", "-o", trace)
            with open(trace, errors="replace") as file:
                lines = [line for line in file if " exited with " not in line]
            self.assertGreater(len(lines), 20, done.stderr)
            self.assertEqual([line for line in lines[1:] if FORBIDDEN.search(line)], [])
            self.assertFalse([line for line in lines if "/etc/passwd" in line], "a file was opened by its name")


if __name__ == "__main__":
    unittest.main(argv=sys.argv, verbosity=2)
