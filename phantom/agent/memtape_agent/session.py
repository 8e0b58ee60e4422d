# SPDX-License-Identifier: Apache-2.0
"""One process's watch over torch, and the file it leaves: process-PID.json in the run's folder."""
import atexit
import functools
import json
import os
import re
import sys
import time
import traceback

from . import autotuning, cudnn, history, host_models, native, rejections, settings, stacks, step_tape
from .peaks import MEASURES, Peaks
from .phases import Phases
from .reads import Reads
from . import values

_MOST_STEPS, _MOST_OOMS = 1000, 5
_SECONDS_BETWEEN_FILES = 0.5 if settings.WATCH else 0.2  # a process that is killed leaves figures no older than that


class Session:
    def __init__(self, torch):
        self._torch = torch
        self._pid = os.getpid()
        self._ready = False
        self._phase_peaks = {}  # device -> phase -> measure -> bytes
        self._step_peaks = {}  # device -> peaks of the present step
        self._steps = []  # [{device: peaks}]
        self._steady = {}
        self._ooms, self._problems, self._died = [], [], ""
        self._book = None
        self._written, self._pause = 0.0, _SECONDS_BETWEEN_FILES
        self._reads = None
        stacks.know_torch(torch)
        self._phases = Phases(torch, self._close_phase, self._close_step)
        torch.cuda._lazy_call(self._guarded(self._cuda_is_ready))
        atexit.register(self.finish)
        self._finish_before(os, "_exit")
        self._note_errors()

    def _finish_before(self, module, name):
        """Processes that Python's multiprocessing forks end without running exit handlers."""
        real = getattr(module, name)

        def ending(*args):
            self.finish()
            real(*args)
        setattr(module, name, ending)

    def _note_errors(self):
        """What ends a rank is in its report, because the others do not wait for it."""
        real = sys.excepthook

        @functools.wraps(real)
        def ended(kind, error, trace):
            if not issubclass(kind, KeyboardInterrupt):
                self._died = ("%s: %s" % (kind.__name__, error)).split("\n")[0][:300]
            real(kind, error, trace)
        sys.excepthook = ended

    def follow_values(self):
        """Small tensors keep their values; without it every copy to the host gives zeros."""
        self._book = self._guarded(values.install)(self._torch, settings.IMBALANCE, settings.SOLO)

    def end_rejections(self):
        """Whatever is known of values: what no device draws is never inside."""
        self._guarded(rejections.end_as_expected)(self._torch)

    def leave_host_models_unmade(self):
        self._guarded(host_models.leave_unmade)(self._torch)

    def _guarded(self, function):
        """The program must never fail because of us: a failure ends up in the report."""
        def call(*args):
            try:
                return function(*args)
            except Exception:
                self._problems.append(traceback.format_exc(limit=3))
                return None
        return call

    def _cuda_is_ready(self):
        self._pid = os.getpid()
        self._peaks = Peaks(self._torch)
        self._backend = self._torch.cuda.memory.get_allocator_backend()
        if self._backend == "native":  # the others keep no history and have no observers
            self._history = history.History(self._torch, settings.HISTORY, settings.WATCH or settings.WANT_TAPE or settings.WANT_SNAPSHOT)
            self._torch._C._cuda_attach_out_of_memory_observer(self._guarded(self._out_of_memory))
        self._reads = None if settings.WATCH else Reads(lambda: (self._phases.step, self._phases.phase), self._stuck)
        self._marks = step_tape.Marks(self._torch, self._peaks.raw) if settings.WANT_TAPE and self._backend == "native" else None
        self._ready = True

    def _in_use(self):
        """The statistics of a device cost more than many a small phase: they are asked only where another GPU has been taken."""
        if native.gpus_held() != len(self._phase_peaks):
            for device in self._peaks.devices():
                if device not in self._phase_peaks and (self._peaks.raw(device).get("reserved_bytes") or {}).get("all", {}).get("peak", 0):
                    self._phase_peaks[device] = {}
        return list(self._phase_peaks)

    def _close_phase(self, phase):
        if self._ready:
            self._guarded(self._fold)(phase)
            if self._marks:
                self._guarded(self._marks.phase)(self._phases.step, self._phases.phase, self._in_use())
        native.mark(self._phases.step, self._phases.phase)

    def _fold(self, phase):
        for device in self._in_use():
            peaks = self._peaks.close(device)
            for into in (self._phase_peaks.setdefault(device, {}).setdefault(phase, {}),
                         self._step_peaks.setdefault(device, {})):
                for m in MEASURES:
                    into[m] = max(into.get(m, 0), peaks[m])

    def _events(self):
        """At most so many events of the allocator's on one device: an allocation, and two of a free."""
        made = [(self._peaks.raw(d).get("allocation") or {}).get("all", {}).get("allocated", 0) for d in self._in_use()]
        return 3 * max(made, default=0)

    def _close_step(self):
        if self._ready:
            if len(self._steps) < _MOST_STEPS:
                self._steps.append(self._step_peaks)
            if self._backend == "native":
                self._guarded(self._history.step_done)({d: peaks["requested"] for d, peaks in self._step_peaks.items()}, self._events)
            self._step_peaks = {}
            self._steady = dict(self._peaks.at_close)  # the optimizer's phase has just ended
            if self._marks:
                self._guarded(self._marks.step_done)(self._phases.step - 1, self._in_use())
            if time.monotonic() - self._written > self._pause:
                self._write_seldom()
        native.mark(self._phases.step, self._phases.phase)
        if settings.STOP_AFTER and self._phases.step >= settings.STOP_AFTER:
            raise SystemExit(0)

    def _out_of_memory(self, device, requested, total, free):
        if len(self._ooms) < _MOST_OOMS:
            now = self._peaks.now(device)
            self._ooms.append({"device": device, "request": requested, "total": total, "free": free, "phase": self._phases.phase,
                               "step": self._phases.step, "stack": stacks.here(2), **now,
                               "largest": history.alive_now(self._torch.cuda.memory._snapshot(), device)})
            if settings.WATCH and len(self._ooms) == 1:
                self._torch.cuda.memory._dump_snapshot(os.path.join(settings.RUN_FOLDER, "process-%d.pickle" % self._pid))

    def _figures(self):
        stats = {d: self._peaks.raw(d) for d in self._in_use()}
        return {"pid": self._pid, "argv": sys.argv[:1], "python": sys.version.split()[0], "torch": self._torch.__version__,
                "rank": _rank(), "world": _world(), "finished": not self._ready, "died": self._died, "stopped": bool(settings.STOP_AFTER and self._phases.step >= settings.STOP_AFTER),
                "step": self._phases.step, "phase": self._phases.phase, "problems": self._problems, "warnings": cudnn.warnings(), "out_of_memory": self._ooms,
                "reads": self._reads.table() if self._reads else [], "invented": self._book.table() if self._book else [], "backend": self._backend,
                "devices": [self._figures_of(d, stats[d]) for d in sorted(stats)]}

    def _figures_of(self, device, stats):
        phases = self._phase_peaks.get(device, {})
        return {"device": device, "gpu": _gpu(device), "phases": phases,
                "peak": {m: max([p.get(m, 0) for p in phases.values()] or [0]) for m in MEASURES},
                "steady": self._steady.get(device), "now": self._peaks.now(device),
                "steps": [s.get(device, {}) for s in self._steps[-3:]],
                "retries": stats.get("num_alloc_retries", 0), "segments": (stats.get("segment") or {}).get("all", {}).get("current", 0)}

    def _write_seldom(self):
        """A file of many steps and places takes a hundredth of the time at most."""
        began = time.monotonic()
        self._guarded(self._write)(self._figures())
        self._pause = max(_SECONDS_BETWEEN_FILES, 100 * (time.monotonic() - began))

    def _write(self, figures):
        path = os.path.join(settings.RUN_FOLDER, "process-%d.json" % self._pid)
        with open(path + ".new", "w") as file:
            json.dump(figures, file)
        os.replace(path + ".new", path)
        self._written = time.monotonic()

    def finish(self):
        if not self._ready or self._pid != os.getpid():
            return
        self._ready = False
        native.watch_reads(None)
        self._guarded(self._finish)()

    def _finish(self):
        self._fold(self._phases.phase)
        figures = self._figures()
        self._write(figures)
        if self._backend != "native":
            return
        try:
            snapshot = self._torch.cuda.memory._snapshot()
            for of in figures["devices"]:
                of["at_peak"] = self._history.at_peak(snapshot, of["device"])
            if self._marks:
                self._write_tape(snapshot, figures["devices"])
            if settings.WANT_SNAPSHOT:
                self._torch.cuda.memory._dump_snapshot(os.path.join(settings.RUN_FOLDER, "process-%d.pickle" % self._pid))
        except Exception:
            self._problems.append(traceback.format_exc(limit=3))
        self._write(figures)

    def _stuck(self, text):
        """A program that waits for ever ends here, with its report."""
        note("waits", text)
        sys.stderr.write("memtape: %s\n" % text)
        sys.stderr.flush()
        self.finish()
        os._exit(3)

    def _write_tape(self, snapshot, devices):
        """Of the fullest device."""
        fullest = max(devices, key=lambda of: of["peak"]["reserved"], default=None)
        if fullest is not None:
            device = fullest["device"]
            tape = step_tape.tape_of(snapshot, device, self._marks, step_tape.moves(self._peaks.raw(device)))
            step_tape.write(os.path.join(settings.RUN_FOLDER, "process-%d.tape" % self._pid), tape)


def _world():
    """How many ranks a launcher has said there are; 1 for one that this process plays alone."""
    world = next((os.environ[n] for n in ("WORLD_SIZE", "SLURM_NTASKS", "OMPI_COMM_WORLD_SIZE") if os.environ.get(n, "").isdigit()), "1")
    return 1 if settings.SOLO else int(world)


def _rank():
    """RANK, or what launchers say that leave it out: Lightning sets LOCAL_RANK and NODE_RANK, Slurm and MPI their own."""
    for name in ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK"):
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    local, node, of_node = (os.environ.get(name, "") for name in ("LOCAL_RANK", "NODE_RANK", "LOCAL_WORLD_SIZE"))
    if not local.isdigit():
        return None
    return int(local) + (int(node) * int(of_node) if node.isdigit() and of_node.isdigit() else 0)


def _gpu(device):
    """The GPU behind a device number."""
    visible = [v for v in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if v.strip()]
    return int(visible[device].rsplit("-", 1)[-1], 16 if "-" in visible[device] else 10) if device < len(visible) else device


def begin(torch):
    if not getattr(torch.version, "cuda", None):
        note("torch", "this torch (%s) is a build without CUDA" % torch.__version__)
        return
    if settings.WATCH:
        Session(torch)
        return
    cudnn.leave_out(torch)
    autotuning.end_at_first()
    if settings.SOLO:
        from . import solo
        solo.install(torch)
    session = Session(torch)
    session.end_rejections()
    if not settings.HOST_INIT:
        session.leave_host_models_unmade()
    if settings.VALUES:
        session.follow_values()


def import_failed(error):
    """A torch that is newer than the stand-ins asks them for names they do not have."""
    missing = re.search(r"undefined symbol: (\w+)", str(error))
    if missing:
        note("torch", "this torch needs %s, which phantom GPUs do not have: it is newer than those they know" % missing[1])


def note(kind, text):
    with open(os.path.join(settings.RUN_FOLDER, "notes"), "a") as file:
        file.write("%d %s %s\n" % (os.getpid(), kind, text))
