"""Work on many deals shared out to worker processes, each of which holds the same agents.

Workers are started by a server process (``forkserver``) that has neither threads nor compiled code; agents are rebuilt
in them from their specs. What a crew yields depends on neither the number of workers nor on who did what.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from types import TracebackType
from typing import Any, TypeVar

from envs.agents import Agent, check_rules
from envs.game import Game
from training.agents import load_agent
from training.errors import AgentError

T = TypeVar("T")
_ONE_LINE: dict[str, type[ValueError]] = {"ValueError": ValueError, "AgentError": AgentError}
"""Errors of workers that are raised here as they were there."""
TASK_SECONDS = 1.0
"""Tasks grow until they take about as long."""
AHEAD = 8
"""Most tasks a worker that may be done, or under way, beyond the first that is not."""
REPORT_SECONDS = 5.0
"""Longest wait for the exit code of a worker that has died: what started it has to notice first."""


class WorkerError(OSError):
    """A worker process that ended by itself, such as one killed for want of memory."""


@dataclass(frozen=True)
class Team:
    """Agents of one game and its rules, as their specs name them; it travels between processes as those specs."""

    game: Game
    rules: Any
    specs: tuple[str, ...]
    agents: tuple[Agent, ...]
    greedy: bool = True

    @classmethod
    def load(cls, game: Game, rules: Any, specs: Sequence[str], greedy: bool = True) -> Team:
        """Build all agents; ValueError says in one line what is wrong with one."""
        agents = tuple(load_agent(spec, game, greedy=greedy) for spec in specs)
        for agent in agents:
            check_rules(agent, rules)
        return cls(game, rules, tuple(specs), agents, greedy)

    def __reduce__(self) -> tuple[Any, ...]:
        return Team.load, (self.game, self.rules, self.specs, self.greedy)


def cores() -> int:
    """Number of processor cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Crew:
    """Worker processes that share work; use it in a ``with`` statement, which ends them.

    Args:
        team: the agents that each of them holds.
        workers: number of processes; with 1 all work is done in this one.
    """

    def __init__(self, team: Team, workers: int = 1) -> None:
        self.team = team
        self.workers = workers
        self._processes: list[Any] = []
        self._pipes: list[Connection] = []

    def __enter__(self) -> Crew:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def index(self, agent: Agent) -> int:
        """Where an agent, that very object, stands in the team."""
        return next(i for i, own in enumerate(self.team.agents) if own is agent)

    def spread(
        self, work: Callable[[Team, int, int], T], end: int, start: int = 0, most: int = 1 << 30
    ) -> Iterator[tuple[int, int, T]]:
        """Do work on items ``start..end-1``, several at a time.

        Args:
            work: an importable function, or a partial of one: ``work(team, first, count)``.
            end: number of the item after the last.
            start: number of the first item.
            most: most items in one call.

        Yields:
            First item, number of items and result of each call, in order.

        Raises:
            ValueError: what `work` raised.
            WorkerError: a worker process has died; what had been yielded stands, the rest is lost.
        """
        plan = _Plan(start, end, most, self.workers)
        if self.workers == 1:
            while (task := plan.next()) is not None:
                begun = time.perf_counter()
                with _one_thread():
                    result = work(self.team, *task)
                plan.learn(task[1], time.perf_counter() - begun)
                yield (*task, result)
            return
        self._start()
        yield from self._share(work, plan)

    def _share(self, work: Callable[[Team, int, int], T], plan: _Plan) -> Iterator[tuple[int, int, T]]:
        idle, busy = list(self._pipes), {}
        order: list[tuple[int, int]] = []
        done: dict[tuple[int, int], T] = {}
        while True:
            while idle and len(order) < AHEAD * self.workers and (task := plan.next()) is not None:
                pipe = idle.pop()
                self._send(pipe, (work, *task))
                busy[pipe] = task
                order.append(task)
            if not order:
                return
            for ready in wait(list(busy)):
                assert isinstance(ready, Connection)
                seconds, result = self._receive(ready)
                task = busy.pop(ready)
                plan.learn(task[1], seconds)
                done[task] = result
                idle.append(ready)
            while order and order[0] in done:
                task = order.pop(0)
                yield (*task, done.pop(task))

    def _start(self) -> None:
        if self._processes:
            return
        method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
        context: Any = multiprocessing.get_context(method)
        held = None
        if hasattr(signal, "pthread_sigmask"):
            # Ctrl-C is for this process alone: what it starts now inherits that it is held back.
            resource_tracker.ensure_running()
            held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            for _ in range(self.workers):
                own, other = context.Pipe()
                process = context.Process(target=_serve, args=(other, os.getcwd()), daemon=True)
                process.start()
                other.close()
                self._processes.append(process)
                self._pipes.append(own)
        finally:
            if held is not None:
                signal.pthread_sigmask(signal.SIG_SETMASK, held)
        for pipe in self._pipes:
            self._send(pipe, self.team)
        for pipe in self._pipes:
            self._receive(pipe)

    def _send(self, pipe: Connection, message: Any) -> None:
        try:
            pipe.send(message)
        except OSError:
            raise self._death(pipe) from None

    def _receive(self, pipe: Connection) -> tuple[float, Any]:
        """Seconds and result; raises what the worker met."""
        try:
            seconds, result, error = pipe.recv()
        except (EOFError, OSError):
            raise self._death(pipe) from None
        if error is not None:
            kind, text = error
            if kind in _ONE_LINE:
                raise _ONE_LINE[kind](text)
            raise RuntimeError(f"in a worker process:\n{text}")
        return seconds, result

    def _death(self, pipe: Connection) -> WorkerError:
        """What is to be said of the worker at the other end of a pipe."""
        process = self._processes[self._pipes.index(pipe)]
        process.join(REPORT_SECONDS)
        code = process.exitcode
        if code is None:
            return WorkerError("a worker process has died")
        if code >= 0:
            return WorkerError(f"a worker process has ended with exit code {code}")
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return WorkerError(f"a worker process was killed by {name}{' (out of memory?)' if name == 'SIGKILL' else ''}")

    def close(self) -> None:
        """End the workers, whatever they are doing."""
        for process in self._processes:
            process.terminate()
        for pipe in self._pipes:
            pipe.close()
        for process in self._processes:
            process.join()
        self._processes, self._pipes = [], []


class _Plan:
    """Cuts a range of items into tasks: a single item at first, growing to about `TASK_SECONDS`.

    They never shrink but to share the rest out evenly: what a task costs before its first item would grow with them.
    """

    def __init__(self, start: int, end: int, most: int, workers: int) -> None:
        self.at, self.end, self.most, self.workers = start, end, most, workers
        self.size = 1
        self.last = False

    def next(self) -> tuple[int, int] | None:
        """First item and number of items of the next task; None when there are none."""
        left = self.end - self.at
        if left <= 0:
            return None
        if not self.last and left <= self.size * self.workers:
            self.size, self.last = -(-left // self.workers), True
        task = self.at, min(self.size, left)
        self.at += task[1]
        return task

    def learn(self, count: int, seconds: float) -> None:
        """Learn how long a task of so many items took."""
        if not self.last and count == self.size and seconds < TASK_SECONDS:
            self.size = min(self.size * (8 if seconds < TASK_SECONDS / 8 else 2), self.most)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Keep PyTorch, where it is used, to one thread: on a busy machine threads wait for each other."""
    torch = sys.modules.get("torch")
    before = torch.get_num_threads() if torch else 0
    try:
        if torch:
            torch.set_num_threads(1)
        yield
    finally:
        if torch:
            torch.set_num_threads(before)


def _serve(pipe: Connection, folder: str) -> None:
    """Life of a worker: it gets a team, then tasks, until its pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    team: Any = None
    while True:
        begun, result, error = time.perf_counter(), None, None
        try:
            os.chdir(folder)
            message = pipe.recv()
            begun = time.perf_counter()
            if team is None:
                team = message
                if "torch" in sys.modules:
                    sys.modules["torch"].set_num_threads(1)
            else:
                work, first, count = message
                result = work(team, first, count)
        except (EOFError, BrokenPipeError, ConnectionResetError):
            return
        except ValueError as problem:
            error = "AgentError" if isinstance(problem, AgentError) else "ValueError", str(problem)
        except Exception:
            error = "other", traceback.format_exc()
        try:
            pipe.send((time.perf_counter() - begun, result, error))
        except OSError:
            return
