"""A job of several machines: their supervisors, connected to that of node 0.

Node 0 listens at --master-port until the others have called; rank 0's store has the port then.
mpirun runs on node 0. What it would start on another machine by ssh is a `prted`; its words go from
node 0's supervisor to the other node's, which runs it and is the supervisor of that node's ranks.
Every message is a line of JSON. Read `meet`, then `Nodes`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import hmac
import json
import os
import re
import secrets
import selectors
import shlex
import shutil
import socket
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from . import _mpirun, _stores, _told

if TYPE_CHECKING:
    from . import _launch

# The variable with a secret that the supervisors of all nodes are given, if any.
_SECRET = "RUSHLIGHT_SECRET"
_ANSWER = 10.0  # seconds that a caller, or who is called, has for an answer
_AGAIN = 0.3  # seconds between two calls of a node 0 that does not listen yet
_START = "RUSHLIGHT_START"  # the variable that names the node's script for a rank
Message = dict[str, Any]


class Link:
    """A connection to another node's supervisor. It outlasts the selectors that watch it."""

    def __init__(self, connection: socket.socket, node: int) -> None:
        self.connection, self.node, self.rest, self.host = connection, node, b"", ""
        self.fileno = connection.fileno
        self.heard: Callable[[int, Message], None] = lambda node, message: None
        for option, value in (("KEEPIDLE", 10), ("KEEPINTVL", 5), ("KEEPCNT", 3)):
            if hasattr(socket, f"TCP_{option}"):  # a machine that has lost its power says nothing
                connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, f"TCP_{option}"), value)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)

    def say(self, what: str, **more: object) -> None:
        """Send a message, if the other is still there."""
        with contextlib.suppress(OSError):
            self.connection.sendall(json.dumps({"what": what, **more}).encode() + b"\n")

    def ready(self) -> bool:
        """Give what has come to `heard`; at the end, a message that says "lost"."""
        try:
            message = self.wait()
        except OSError:
            self.heard(self.node, {"what": "lost", "why": f"node {self.node} has gone"})
            return False
        self.heard(self.node, message)
        while b"\n" in self.rest:
            self.heard(self.node, self.wait())
        return True

    def wait(self) -> Message:
        """The next message; ConnectionError at the end, or where there is no sense in it."""
        while b"\n" not in self.rest:
            data = self.connection.recv(65536)
            if not data or len(self.rest) > 1 << 20:
                raise ConnectionError("the connection has ended")
            self.rest += data
        line, _, self.rest = self.rest.partition(b"\n")
        try:
            message = json.loads(line)
        except ValueError:
            message = None
        if not isinstance(message, dict) or "what" not in message:
            raise ConnectionError("it is not another supervisor")
        return message

    def close(self) -> None:
        """Nothing: a selector that ends leaves the connection as it is."""


def meet(job: _launch.Job) -> Nodes:
    """Connect this node's supervisor with the others; the job as node 0 tells it is in the answer.

    Raises RuntimeError where they do not come, or do not fit each other.
    """
    return _called(job) if job.node == 0 else _calling(job)


def _facts(job: _launch.Job) -> Message:
    """What must be the same on all nodes, and by which option it is set."""
    return {"--nnodes": job.nodes, "--nproc-per-node": job.processes}


def _machine() -> str:
    """This machine's name, and what no other of that name has."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/random/boot_id") as file:
        return f"{socket.gethostname()} {file.read().strip()}"
    return socket.gethostname()


def _proof(job: _launch.Job, nonce: object, text: str) -> str:
    """That a text is of one who knows the job's name and secret."""
    key = json.dumps([job.run_id, os.environ.get(_SECRET, "")]).encode()
    return hmac.new(key, f"{nonce} {text}".encode(), hashlib.sha256).hexdigest()


def _called(job: _launch.Job) -> Nodes:
    """Node 0: wait until all others have called."""
    port, end = job.master_port, time.monotonic() + job.join_timeout
    links: dict[int, Link] = {}
    machines = {_machine()}
    welcomes: dict[int, object] = {}

    def lost(node: int, message: Message) -> None:
        del links[node]
        _told.write(2, f"{message['why']}; it is waited for again.\n")

    with _stores._listening(port) as listening, selectors.DefaultSelector() as selector:
        selector.register(listening, selectors.EVENT_READ)
        while len(links) < job.nodes - 1:
            for key, _ in selector.select(max(end - time.monotonic(), 0)):
                if isinstance(key.fileobj, Link):
                    if not key.fileobj.ready():
                        selector.unregister(key.fileobj)
                        key.fileobj.connection.close()
                    continue
                connection, address = listening.accept()
                try:
                    link, machine, nonce = _taken(job, connection, links)
                except (OSError, RuntimeError) as error:
                    connection.close()
                    caller = address[0].removeprefix("::ffff:")
                    _told.write(2, f"A call from {caller} was refused: {error}\n")
                    continue
                link.heard = lost
                links[link.node], welcomes[link.node] = link, nonce
                machines.add(machine)
                selector.register(link, selectors.EVENT_READ)
            if time.monotonic() > end:
                missing = sorted(set(range(1, job.nodes)) - links.keys())
                raise RuntimeError(
                    f"{job.join_timeout:g} s have passed, and of {job.nodes} nodes these have not "
                    f"called at port {port} of node 0: {', '.join(map(str, missing))}"
                )
    for node, link in links.items():
        told = {"max_restarts": job.max_restarts}
        link.say("welcome", **told, proof=_proof(job, welcomes[node], json.dumps(told)))
    return Nodes(job, links, apart=len(machines) == job.nodes)


def _taken(
    job: _launch.Job, connection: socket.socket, links: Mapping[int, Link]
) -> tuple[Link, str, object]:
    """Node 0: hear who calls. RuntimeError where that one cannot take part; it is told, too."""
    connection.settimeout(_ANSWER)
    link, nonce = Link(connection, 0), secrets.token_hex(16)
    link.say("challenge", nonce=nonce)
    message = link.wait()
    facts, why = _facts(job), ""
    told = {name: message.get(name) for name in (*facts, "node", "machine")}
    proof = _proof(job, nonce, json.dumps(told))
    if not hmac.compare_digest(proof, str(message.get("proof"))):
        why = f"its --rdzv-id or its variable {_SECRET} is not that of node 0"
    for name, value in facts.items():
        if not why and told[name] != value:
            why = f"it has {name}={told[name]}, and node 0 has {value}"
    node = told["node"]
    if not why and (not isinstance(node, int) or not 0 < node < job.nodes):
        why = f"its --node-rank is {node}, and 1 to {job.nodes - 1} are expected"
    if not why and node in links:
        why = f"there is a node with --node-rank={node} already"
    if why:
        link.say("refused", why=why)
        raise RuntimeError(why)
    connection.settimeout(None)
    link.node, link.host = int(str(node)), str(told["machine"]).split()[0]
    return link, str(told["machine"]), message.get("nonce")


def _calling(job: _launch.Job) -> Nodes:
    """Another node: call node 0 until it answers."""
    place, end = f"{job.master_addr}:{job.master_port}", time.monotonic() + job.join_timeout
    while True:
        try:
            connection = socket.create_connection((job.master_addr, job.master_port), _ANSWER)
            break
        except OSError as error:
            if time.monotonic() > end:
                raise RuntimeError(
                    f"node {job.node} could not reach node 0 at {place} for "
                    f"{job.join_timeout:g} s: {error.strerror or error}. Is the supervisor of "
                    "node 0 running there, and is the port open between the machines?"
                ) from None
            time.sleep(_AGAIN)
    link, nonce = Link(connection, 0), secrets.token_hex(16)
    told = _facts(job) | {"node": job.node, "machine": _machine()}
    try:
        proof = _proof(job, link.wait().get("nonce"), json.dumps(told))
        link.say("hello", **told, nonce=nonce, proof=proof)
        connection.settimeout(None)  # until all others have come
        message = link.wait()
    except OSError:
        raise RuntimeError(f"node 0 at {place} has hung up, or another program is there") from None
    if message["what"] == "refused":
        raise RuntimeError(f"node 0 at {place} has refused this node: {message['why']}")
    known = {"max_restarts": message.get("max_restarts", 0)}
    if not hmac.compare_digest(_proof(job, nonce, json.dumps(known)), str(message.get("proof"))):
        raise RuntimeError(f"who answers at {place} does not know this job's secret")
    return Nodes(dataclasses.replace(job, **known), {0: link}, apart=True)


class Nodes:
    """The other supervisors, as this one knows them: on node 0 all, elsewhere that of node 0."""

    def __init__(self, job: _launch.Job, links: dict[int, Link], apart: bool) -> None:
        """apart: whether each node is a machine of its own; for a trial they may be one."""
        self.job, self.links, self.apart = job, links, apart
        self.done: dict[int, Message] = {}  # what nodes have said at the end of an attempt
        self.why = ""  # what a node has ended the job by
        self.words: list[str] = []  # what prted gets on this node
        self.prefixes: list[str] = []
        self.begun: set[int] = set()  # on node 0: who has been sent words in this attempt

    def tell(self, what: str, but: int = -1, **more: object) -> None:
        """Send a message to all others but one."""
        for node, link in self.links.items():
            if node != but:
                link.say(what, **more)

    def watched(self, heard: Callable[[int, Message], None]) -> list[Link]:
        """The links, for a selector; what comes is given to `heard`."""
        self.done = {}
        for link in self.links.values():
            link.heard = heard
        return list(self.links.values())

    # --- what runs on a node: mpirun on node 0, prted elsewhere

    def command(self, folder: str, rank: list[str]) -> tuple[list[str], dict[str, str]]:
        """The command that starts this node's ranks, and its variables; `rank` is their own."""
        start, job = os.path.join(folder, "start"), self.job
        found, own = {_START: start}, [f"cd {shlex.quote(os.getcwd())}"]
        if job.node:
            prted = _prted()
            prefix = os.path.dirname(os.path.dirname(prted))
            if self.prefixes:  # mpirun's are those of node 0's machine
                libraries = [os.path.join(prefix, "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
                found["LD_LIBRARY_PATH"] = path = ":".join(filter(None, libraries))
                own += [f"export LD_LIBRARY_PATH={shlex.quote(path)}"]
                own += [f'[ -z "$OPAL_PREFIX" ] || export OPAL_PREFIX={shlex.quote(prefix)}']
        with open(start, "w") as file:
            file.write("\n".join([*own, f"exec {shlex.join(rank)}\n"]))
        if job.node:
            return [prted, *self.words], found | dict.fromkeys(self.prefixes, prefix)
        agent = os.path.join(folder, "agent")
        with open(agent, "w") as file:
            called = f"{shlex.quote(folder)}/call_$1"
            file.write(f'printf %s "$*" > {called}_\nmv {called}_ {called}\n')
        found |= {"PRTE_MCA_plm_ssh_agent": f"sh {agent}", "PRTE_MCA_plm_ssh_no_tree_spawn": "1"}
        # On one machine their files in shared memory would have the same names.
        if not self.apart and "OMPI_MCA_btl" not in os.environ:
            found["OMPI_MCA_btl"] = "self,tcp"
        hosts = ["localhost", *map(_host, range(1, job.nodes))]
        each = f":{job.processes}"
        words = [_mpirun.mpirun(), "-n", str(job.nodes * job.processes), "--map-by", "slot"]
        words += ["--bind-to", "none", "--host", ",".join(host + each for host in hosts)]
        return [*words, "--wdir", "/", "sh", "-c", f'. "${_START}"'], found

    def look(self, folder: str) -> None:
        """Node 0: pass on what mpirun has given the agent."""
        for node, link in self.links.items():
            path = os.path.join(folder, f"call_{_host(node)}")
            if os.path.exists(path):
                with open(path) as file:
                    text = file.read()
                os.unlink(path)
                words = shlex.split(text)
                first = next(i for i, word in enumerate(words, 1) if word.endswith("prted"))
                prefixes = re.findall(r"\b(PRTE_PREFIX|PMIX_PREFIX)=", text)
                link.say("start", words=words[first:], prefixes=prefixes)
                self.begun.add(node)

    # --- between attempts

    def next(self) -> Message | None:
        """None when an attempt is to start; what node 0 has said where there is none any more."""
        message: Message = {"what": "over"}
        while self.job.node and message["what"] == "over":
            try:
                message = self.links[0].wait()
            except OSError:
                message = {"what": "lost", "why": "node 0 has gone"}
        if self.job.node and message["what"] != "start":
            return message
        self.words, self.prefixes = message.get("words", []), message.get("prefixes", [])
        return None

    def agree(self, failures: list[_told.Failure]) -> str:
        """At the end of an attempt: node 0 gets the failures of all. What ends the job for good."""
        if self.job.node:
            self.tell("done", failures=[dataclasses.asdict(failure) for failure in failures])
            return ""
        self.tell("over")
        end = time.monotonic() + self.job.shutdown + _ANSWER
        with selectors.DefaultSelector() as selector:
            for link in self.links.values():
                link.heard = self.note
                selector.register(link, selectors.EVENT_READ)
            while not self.begun <= self.done.keys() and time.monotonic() < end:
                for key, _ in selector.select(_AGAIN):
                    found: Any = key.fileobj
                    if not found.ready():
                        selector.unregister(found)
        told = [words for m in self.done.values() for words in m.get("failures", [])]
        if told:  # what mpirun alone has said of other nodes is less, and may be what follows
            own = [failure for failure in failures if failure.rank < self.job.processes]
            # The error file is on the other machine.
            theirs = [_told.Failure(**{**words, "error_file": ""}) for words in told]
            failures[:] = sorted([*own, *theirs], key=lambda failure: failure.time)
        for failure in failures:
            if node := failure.rank // self.job.processes:
                failure.host = self.links[node].host
        self.begun = set()
        return self.why

    def note(self, node: int, message: Message) -> None:
        """Remember what a node has said of the end of an attempt, or of the job."""
        if message["what"] == "done":
            self.done[node] = message
        elif message["what"] != "over":
            self.done.setdefault(node, {})
            self.why = self.why or str(message["why"])

    def end(self, code: int, failures: list[_told.Failure], why: str) -> None:
        """Node 0: the job has ended. Nobody is there for the others afterwards."""
        if failures and not why:
            why = f"rank {failures[0].rank} on {failures[0].host} {failures[0].reason()}"
        if not self.job.node:
            self.tell("end", code=code, why=why)
        for link in self.links.values():
            link.connection.close()


def _host(node: int) -> str:
    """What mpirun calls another node: an address, which nobody looks up."""
    return f"0.0.{node >> 8}.{node & 255}"


def _prted() -> str:
    """The path of prted, which belongs to mpirun from Open MPI 5 on."""
    mpirun = _mpirun.mpirun()
    beside = os.path.dirname(mpirun), os.path.dirname(os.path.realpath(mpirun))
    found = shutil.which("prted", path=os.pathsep.join(beside))
    if found is None:
        raise RuntimeError(f"several machines need Open MPI 5: there is no prted beside {mpirun}")
    return found
