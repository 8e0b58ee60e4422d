# SPDX-License-Identifier: Apache-2.0
"""steering.py: what a program's control flow depends on has its value, as a device would have it. Run by memtape run."""
import torch

failures = []


def expect(what, got, right):
    if got != right:
        failures.append("%s: %r, not %r" % (what, got, right))


def ids_and_masks():
    ids = torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0]]).to("cuda")
    mask = ids != 0
    expect("lengths", mask.sum(1).tolist(), [3, 1])
    expect("a count", mask.sum().item(), 4)
    expect("which", mask.nonzero().tolist(), [[0, 0], [0, 1], [0, 2], [1, 0]])
    expect("chosen by a mask", ids[mask].tolist(), [1, 2, 3, 4])
    expect("masked_select", torch.masked_select(ids, mask).tolist(), [1, 2, 3, 4])
    expect("where", [w.tolist() for w in torch.where(mask[1])], [[0]])
    expect("unique", torch.unique(ids).tolist(), [0, 1, 2, 3, 4])
    expect("bincount", torch.bincount(ids.flatten()).tolist(), [4, 1, 1, 1, 1])
    expect("repeated", torch.repeat_interleave(torch.arange(3, device="cuda"), torch.tensor([1, 0, 2], device="cuda")).tolist(), [0, 2, 2])
    expect("equal", (torch.equal(ids, ids.clone()), torch.equal(ids, ids + 1)), (True, False))
    expect("a loop over a count", list(range(mask.sum(1).max())), [0, 1, 2])
    wide = torch.ones(4096, 4096, dtype=torch.bool, device="cuda").tril()
    expect("a mask of 16 MiB", wide.sum().item(), 4096 * 4097 // 2)


def in_place():
    x = torch.zeros(4, dtype=torch.long, device="cuda")
    x += 3
    x[1] = 7
    x.mul_(2)
    expect("in place", x.tolist(), [6, 14, 6, 6])
    x[x > 10] = 1
    expect("set by a mask", x.tolist(), [6, 1, 6, 6])
    before = x + 0
    x.view(2, 2)[1].add_(1)
    expect("through a view", x.tolist(), [6, 1, 7, 7])
    expect("a copy from before", before.tolist(), [6, 1, 6, 6])
    buffer = torch.empty(3, dtype=torch.long, device="cuda")
    buffer.copy_(torch.tensor([9, 8, 7]))
    expect("copied into", buffer.tolist(), [9, 8, 7])
    wide = torch.zeros(8192, dtype=torch.long, device="cuda")
    later = wide + 1
    wide.fill_(5)
    expect("put off, and then changed under it", (later.sum().item(), wide.sum().item()), (8192, 5 * 8192))
    known = torch.ones(2, dtype=torch.long, device="cuda")
    torch._foreach_add_([known], 1)  # passes us by: its value is not 1
    expect("changed unseen is unknown", known.tolist(), [0, 0])


def modes():
    with torch.inference_mode():
        y = torch.tensor([1, 2, 3], device="cuda")
        y += 1
        expect("inference mode", y.tolist(), [2, 3, 4])
    with torch.device("cuda"):
        z = torch.arange(5)
        z.add_(1)
        expect("a device as a context", (z.is_cuda, z.tolist()), (True, [1, 2, 3, 4, 5]))
    state = torch.get_rng_state()
    torch.randint(0, 9, (64,), device="cuda").tolist()
    expect("the host's generator is left alone", torch.equal(state, torch.get_rng_state()), True)
    scripted = torch.jit.script(_scripted)
    expect("a scripted function", scripted(torch.ones(2)).tolist(), [3.0, 3.0])


def _scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.add(x, 1) + torch.cat([x])


def inventions():
    scores = torch.randn(64, 128, device="cuda") @ torch.randn(128, 16, device="cuda")
    chosen = torch.topk(scores, 2, -1)[1]
    expect("experts get the same", torch.bincount(chosen.flatten(), minlength=16).tolist(), [8] * 16)
    expert = torch.nn.functional.one_hot(chosen, 16).permute(2, 1, 0)[3]
    expect("tokens of an expert", len(torch.where(expert)[1]), 8)
    expect("all is finite", (bool(torch.isnan(scores).any()), bool(torch.isfinite(scores).all())), (False, True))
    expect("any and all", (bool((scores > 5).any()), bool((scores > 5).all())), (False, True))
    drawn = torch.multinomial(torch.softmax(scores, -1), 1).flatten().tolist()
    expect("drawn tokens exist and differ", (min(drawn) >= 0 and max(drawn) < 16, len(set(drawn)) > 4), (True, True))


def compiled():
    from torch._dynamo.utils import counters

    def step(x):
        y = torch.where(x > 5, x, 0) + torch.arange(64, device="cuda")
        return torch.cat([y, y.clamp(min=1)], -1).cumsum(-1), torch.nn.functional.one_hot(x, 9), x.new_ones(3)
    torch.compile(step, backend="aot_eager", fullgraph=True)(torch.randint(0, 9, (2, 64), device="cuda"))
    expect("one graph", (counters["stats"]["unique_graphs"], dict(counters["graph_break"])), (1, {}))


for program in (ids_and_masks, in_place, modes, inventions, compiled):
    program()
print("\n".join(failures) or "all as a device has it")
raise SystemExit(1 if failures else 0)
