# SPDX-License-Identifier: Apache-2.0
"""steering.py: what a program's control flow depends on has its value, as a device would have it. Run by memtape run."""
import math
import time

import numpy
import torch
import torch.fx.experimental.symbolic_shapes
import triton
from triton import language

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


def masks_of_unknown_tensors():
    """The count needs the mask alone: forward, on autograd's thread, and in compiled code."""
    ids = torch.tensor([[1, 2, 3, 0], [4, 0, 0, 0]]).to("cuda")
    mask = ids != 0
    x = torch.randn(2, 4, 4096, device="cuda", requires_grad=True)
    chosen = x[mask]
    chosen.sum().backward()
    selected = x.masked_select(mask.unsqueeze(-1))
    selected.sum().backward()
    repeated = x.repeat_interleave(torch.tensor([1, 3], device="cuda"), 0)
    repeated.sum().backward()
    expect("rows", (chosen.shape[0], selected.shape[0], repeated.shape[0]), (4, 4 * 4096, 4))
    left, right = x * 1, x * 2
    left[mask] = right[mask]
    left.sum().backward()

    def loss(x, mask):
        return x[mask].sum() + (x * 2)[~mask].square().sum()
    torch.compile(loss, backend="aot_eager")(x, mask).backward()
    expect("an operator called by its name", torch.ops.aten.nonzero(mask).shape[0], 4)


def of_a_shape():
    unknown = torch.randn(64, 4096, device="cuda") @ torch.randn(4096, 8, device="cuda")
    ones = torch.ones_like(unknown[:, 0], dtype=torch.long)
    made = (ones.sum().item(), torch.full_like(ones, 3).tolist()[:2], unknown.new_ones(2).tolist(), unknown.new_full((2,), 7).tolist())
    expect("made of a shape", made, (64, [3, 3], [1.0, 1.0], [7.0, 7.0]))
    numbers = [torch.tensor(2, device="cuda"), torch.tensor(3, device="cuda")]
    made = (torch.tensor(numbers).tolist(), torch.tensor([numbers, numbers], device="cuda").tolist(), ones.new_tensor(numbers).tolist())
    expect("made of tensors in lists", made, ([2, 3], [[2, 3], [2, 3]], [2, 3]))
    joined = torch.cat([torch.tensor([], device="cuda"), unknown])
    expect("nothing, and what nobody knows", (joined.shape[0], torch.cat([torch.tensor([], device="cuda"), ones]).sum().item()), (64, 64))
    buffer = torch.empty(10 << 20, dtype=torch.int32, device="cuda")
    began = time.perf_counter()
    for _ in range(100):  # what a benchmark does to empty a cache
        buffer.zero_()
    expect("nobody reads it", time.perf_counter() - began < 0.5, True)


def numbers_drawn_again():
    """trunc_normal_ of torch 2.15 goes round until none lies outside; how often, is what so many numbers are expected to need."""
    from memtape_agent import rejections
    two_sigma, tail_alone = rejections.rejected_share(0, 1, -2, 2), rejections.rejected_share(0, 1, 1, 2)
    expect("shares", (round(two_sigma, 4), round(tail_alone, 4)), (0.0455, 0.4383))
    expect("rounds", [rejections.expected_rounds(n, two_sigma) for n in (1, 1 << 10, 1 << 24)], [0, 2, 5])
    for bounds in ((-2, 2), (1, 2)):
        torch.nn.init.trunc_normal_(torch.empty(1 << 20, device="cuda"), 0, 1, *bounds)


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
    freed = torch.zeros(4096, dtype=torch.long, device="cuda")
    freed.untyped_storage().resize_(0)  # as FSDP frees a gathered parameter, whose storage lives on
    now = torch.arange(4096, device="cuda") + 1
    expect("what lies there now", (now[7].item(), now.data_ptr() != 0), (8, True))
    known = torch.ones(2, dtype=torch.long, device="cuda")
    torch._foreach_add_([known], 1)  # passes us by: its value is not 1
    expect("changed unseen is unknown", known.tolist(), [0, 0])
    steps = [torch.tensor(0.0, device="cuda") for _ in range(3)]
    for _ in range(2):
        torch._foreach_add_(steps, 1)
    expect("steps that an optimizer counts", [step.item() for step in steps], [2.0, 2.0, 2.0])
    with torch.device("cuda"):
        layer = torch.nn.Linear(8, 8)
        optimizer = torch.optim.Adam(layer.parameters())
        for _ in range(2):
            layer(torch.ones(2, 8)).sum().backward()
            optimizer.step()  # divides by 1 - beta ** step


def modes():
    with torch.inference_mode():
        y = torch.tensor([1, 2, 3], device="cuda")
        y += 1
        expect("inference mode", y.tolist(), [2, 3, 4])
    with torch.device("cuda"):
        z = torch.arange(5)
        z.add_(1)
        expect("a device as a context", (z.is_cuda, z.tolist()), (True, [1, 2, 3, 4, 5]))
        expect("tensors of lists in it", [f([1, 2]).is_cuda for f in (torch.tensor, torch.as_tensor, torch.asarray)], [True] * 3)
    numbers = numpy.array([1, 2, 3])
    copied = torch.as_tensor(numbers, device="cuda")
    numbers[:] = 0
    expect("an array that is written into later", copied.tolist(), [1, 2, 3])
    state = torch.get_rng_state()
    torch.randint(0, 9, (64,), device="cuda").tolist()
    expect("the host's generator is left alone", torch.equal(state, torch.get_rng_state()), True)
    scripted = torch.jit.script(_scripted)
    expect("a scripted function", scripted(torch.ones(2)).tolist(), [3.0, 3.0])


def _scripted(x: torch.Tensor) -> torch.Tensor:
    return torch.add(x, 1) + torch.cat([x])


def of_own_kinds():
    """What a class of the program's own does with torch's functions, which it knows by their names."""
    class Boxed:
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            return {torch.stack: "stacked", torch.cat: "joined", torch.sum: "summed"}.get(function, NotImplemented)
    expect("by their functions", (torch.stack([Boxed(), Boxed()]), torch.cat((Boxed(),)), torch.sum(Boxed())), ("stacked", "joined", "summed"))


def numbers_that_divide():
    """Python divides by no zero, and a device would have given some number."""
    unknown = (torch.randn(64, 4096, device="cuda") @ torch.randn(4096, 8, device="cuda")).sum()
    shares = []
    for _ in range(20):  # Python comes to call float() in another way
        share = 6.0
        share /= float(unknown)
        shares.append(share + 3 / unknown.item() + 8 // int(unknown))
    expect("divided by what nobody knows", shares, [17.0] * 20)
    root = math.sqrt(unknown)
    half = unknown.item() / 2
    expect("divided by under a name", (5 / root, root), (5.0, 1.0))
    expect("read, and not divided by", (float(unknown), half), (0.0, 0.0))
    symbols = torch._subclasses.FakeTensorMode(shape_env=torch.fx.experimental.symbolic_shapes.ShapeEnv(), allow_non_fake_inputs=True)
    with symbols:
        expect("a symbol", type(2 / torch.ones(1, device="cuda").item()).__name__, "SymFloat")
    try:
        expect("divided by a zero that is known", 1 / torch.zeros(1, device="cuda").item(), None)
    except ZeroDivisionError:
        pass


def autotuned():
    """Triton compiles and times its first configuration alone, and takes what a benchmark takes."""
    _doubled[lambda meta: (1000 // meta["SIZE"] + 1,)](torch.randn(1000, device="cuda"), 1000)
    expect("configurations that were timed", [times[0] for times in _doubled.configs_timings.values()], [1.0, float("inf"), float("inf")])


@triton.autotune([triton.Config({"SIZE": size}) for size in (128, 256, 512)], key=["count"])
@triton.jit
def _doubled(numbers, count, SIZE: language.constexpr):
    at = language.program_id(0) * SIZE + language.arange(0, SIZE)
    language.store(numbers + at, 2 * language.load(numbers + at, mask=at < count), mask=at < count)


def inventions():
    scores = torch.randn(64, 128, device="cuda") @ torch.randn(128, 16, device="cuda")
    chosen = torch.topk(scores, 2, -1)[1]
    expect("experts get the same", torch.bincount(chosen.flatten(), minlength=16).tolist(), [8] * 16)
    counted = torch.histc(chosen.flatten().sort()[0].int(), bins=16, min=0, max=15)
    expect("counted by histc", counted.cumsum(0, dtype=torch.int32).tolist(), list(range(8, 136, 8)))
    expert = torch.nn.functional.one_hot(chosen, 16).permute(2, 1, 0)[3]
    expect("tokens of an expert", len(torch.where(expert)[1]), 8)
    expect("all is finite", (bool(torch.isnan(scores).any()), bool(torch.isfinite(scores).all())), (False, True))
    expect("any and all", (bool((scores > 5).any()), bool((scores > 5).all())), (False, True))
    kept = scores > 0
    counted = (kept.sum().item(), kept.nonzero().shape[0], scores[~kept].shape[0], len(torch.where(kept)[0]))
    expect("every second of a comparison", counted, (512, 512, 512, 512))
    wide = (torch.randn(4, 4096, device="cuda") @ torch.randn(4096, 1, device="cuda")).clamp(min=1).ceil()
    expect("a size is as small as it may be", wide[2].item(), 1.0)
    box = (torch.randn(4, 4096, device="cuda") @ torch.randn(4096, 1, device="cuda")).long()[0, 0]
    expect("an unknown number reads and compares as 0", (box.item(), max(box, -1).item(), min(box + 1, 256).item()), (0, 0, 0))
    unseen = torch.zeros(64, dtype=torch.bool, device="cuda")
    torch._foreach_add_([unseen], True)  # as a kernel of somebody's own does: nobody knows its truths
    expect("truths that nobody knows", (scores[unseen].shape[0], unseen.sum().item()), (32, 32))
    small = torch.randn(64, 16, device="cuda") @ torch.randn(16, 8, device="cuda")
    expect("a toy's experts get the same", torch.bincount(torch.topk(small, 2, -1)[1].flatten()).tolist(), [16] * 8)
    drawn = torch.multinomial(torch.softmax(scores, -1), 1).flatten().tolist()
    expect("drawn tokens exist and differ", (min(drawn) >= 0 and max(drawn) < 16, len(set(drawn)) > 4), (True, True))


def compiled():
    from torch._dynamo.utils import counters
    torch._dynamo.reset()
    counters.clear()

    def step(x):
        y = torch.where(x > 5, x, 0) + torch.arange(64, device="cuda")
        return torch.cat([y, y.clamp(min=1)], -1).cumsum(-1), torch.nn.functional.one_hot(x, 9), x.new_ones(3)
    torch.compile(step, backend="aot_eager", fullgraph=True)(torch.randint(0, 9, (2, 64), device="cuda"))
    graph_counts = (counters["stats"]["unique_graphs"], dict(counters["graph_break"]))
    torch.compile(lambda t: torch._foreach_add_(t, 1), backend="aot_eager", fullgraph=True)([torch.zeros((), device="cuda")])
    expect("one graph", graph_counts, (1, {}))


def without_cusolver_and_its_kind():
    """cuSOLVER, cuFFT and cuSPARSE compute nothing, and every factorization succeeds."""
    x = torch.randn(8, 64, 64, device="cuda", requires_grad=True)
    linalg = torch.linalg
    for made in (linalg.cholesky(x), linalg.inv(x), linalg.qr(x)[0], linalg.svd(x)[1], linalg.eigh(x)[0], linalg.solve(x, x),
                 linalg.lstsq(x.detach(), x.detach())[0], linalg.slogdet(x)[1], torch.nn.init.orthogonal_(torch.empty(8, 4, device="cuda"))):
        expect("in its place", (made.is_cuda, made.numel() > 0), (True, True))
        if made.requires_grad:
            made.sum().backward()
    sound = torch.randn(2, 16000, device="cuda", requires_grad=True)
    heard = torch.stft(sound, 400, 160, window=torch.hann_window(400, device="cuda"), return_complex=True)
    torch.fft.irfft2(torch.fft.rfft2(heard.abs())).sum().backward()
    expect("back to sound", torch.istft(heard, 400, 160, window=torch.hann_window(400, device="cuda")).shape[-1], 16000)
    expect("a spectrogram", tuple(heard.shape), (2, 201, 101))
    edges = torch.sparse_coo_tensor(torch.tensor([[0, 1, 2], [2, 0, 1]]), torch.ones(3), (3, 3)).cuda()
    wide = torch.randn(3, 4096, device="cuda", requires_grad=True)
    (torch.sparse.mm(edges, wide).sum() + (edges.to_sparse_csr() @ wide).sum()).backward()
    per_row = torch.func.vmap(lambda row: (row * 2).sum())(torch.randn(4, 8, device="cuda"))
    expect("a sparse tensor's sum, and one within vmap", (edges.to_sparse_csr().sum().dim(), per_row.shape[0]), (0, 4))
    expect("edges", (edges.coalesce().values().shape[0], wide.grad.shape[0]), (3, 3))


for program in (ids_and_masks, masks_of_unknown_tensors, of_a_shape, numbers_drawn_again, in_place, modes, of_own_kinds, numbers_that_divide,
                autotuned, inventions, compiled, without_cusolver_and_its_kind):
    program()
print("\n".join(failures) or "all as a device has it")
raise SystemExit(1 if failures else 0)
