# SPDX-License-Identifier: Apache-2.0
"""Phases and steps, told from what every training program does: it calls modules, backward and an optimizer's step.

    init | forward | backward | optimizer | forward | ...

`init` ends when a module is first called with gradients on. Between the end of an optimizer's step and the next backward all is
forward, data loading included. A step ends with the first optimizer step behind a backward, so several optimizers are one step.
"""
import functools


class Phases:
    def __init__(self, torch, on_phase, on_step):
        self._torch, self._on_phase, self._on_step = torch, on_phase, on_step
        self.phase, self.step = "init", 0
        self._depth, self._had_backward = 0, False
        self._watch_modules()
        self._watch_backward()
        from torch.optim import optimizer
        optimizer.register_optimizer_step_pre_hook(lambda *_: self._enter("optimizer"))
        optimizer.register_optimizer_step_post_hook(lambda *_: self._after_optimizer())

    def _enter(self, phase):
        if phase != self.phase:
            old, self.phase = self.phase, phase
            self._on_phase(old)

    def _watch_modules(self):
        """Once: a module that calls with hooks takes a slower path, and the next ones must not."""
        def first_call(*_):
            if self._torch.is_grad_enabled() and self._torch.cuda.is_initialized():
                hook.remove()
                if self.phase == "init":
                    self._enter("forward")
        hook = self._torch.nn.modules.module.register_module_forward_pre_hook(first_call)

    def _watch_backward(self):
        real = self._torch.autograd.backward

        @functools.wraps(real)
        def backward(*args, **kwargs):
            self._depth += 1
            self._enter("backward")
            try:
                return real(*args, **kwargs)
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._had_backward = True
                    self._enter("forward")
        self._torch.autograd.backward = backward

    def _after_optimizer(self):
        self._enter("forward")
        if self._had_backward:
            self._had_backward = False
            self.step += 1
            self._on_step()
