# SPDX-License-Identifier: Apache-2.0
"""What ranks tell one another on the host: the twin of a small tensor travels through the process group's store.

The stand-in for NCCL moves no bytes between processes. So each rank posts what its tensor holds, beside the collective itself, and
goes on; who reads what came out of it waits until the others have posted, as on a device. All count the collectives of a group, and the
count is the address. Of a rank that plays alone all others hold the same.
"""
import collections
import time

from .twins import Unknown

_MOST = 16 << 20  # bytes of a tensor that travels
_LONG = 4096  # bytes; longer messages are emptied once they are old
_KEPT = 256
_PATIENCE = 120  # seconds
_UNKNOWN = b"0"


class Post:
    def __init__(self, torch, rules, solo):
        self.torch, self.rules, self.solo = torch, rules, solo
        self._counts, self._old = {}, collections.deque()

    def travels(self, tensor):
        return self.rules.is_small(tensor) and 0 < tensor.numel() * tensor.element_size() <= _MOST

    def number(self, address):
        count = self._counts[address] = self._counts.get(address, 0) + 1
        return "memtape/%s/%d" % (address, count)

    def store(self):
        from torch.distributed import distributed_c10d
        return distributed_c10d._get_default_store()

    def pack(self, tensor):
        """The bytes of a tensor's twin."""
        known = self.rules.known
        try:
            with known.quiet():
                value = known.value(tensor).contiguous().flatten().view(self.torch.uint8)
                return b"1" + value.numpy().tobytes()
        except Unknown:
            return _UNKNOWN

    def unpack(self, packed, like):
        if packed[:1] == _UNKNOWN:
            raise Unknown
        bytes_ = self.torch.frombuffer(bytearray(packed[1:]), dtype=self.torch.uint8)
        return bytes_.view(like[0]).view(like[1])

    def send(self, key, packed):
        if self.solo:
            return
        self.store().set(key, packed)
        if len(packed) > _LONG:
            self._old.append(key)
            if len(self._old) > _KEPT:
                self.store().set(self._old.popleft(), _UNKNOWN)

    def receive(self, key):
        store, end, pause = self.store(), time.monotonic() + _PATIENCE, 0.0005
        while not store.check([key]):  # a blocking get would keep the connection from all other threads
            if time.monotonic() > end:
                raise Unknown
            time.sleep(pause)
            pause = min(2 * pause, 0.05)
        return bytes(store.get(key))


class Call:
    """One collective of a group."""

    def __init__(self, post, group):
        from torch.distributed import distributed_c10d
        self.post, self.torch = post, post.torch
        ranks = distributed_c10d.get_process_group_ranks(group)
        self.me, self.size = group.rank(), len(ranks)
        self.address = "%s/%s" % (group.group_name, ",".join(map(str, ranks)))
        self.key, self._own = None, {}

    def send(self, tensor, part=0):
        """Part of what this rank has to say."""
        if self.key is None:
            self.key = self.post.number(self.address)
        packed = self._own[part] = self.post.pack(tensor)
        self.post.send("%s/%d/%s" % (self.key, self.me, part), packed)

    def say_nothing(self):
        if self.key is None:
            self.key = self.post.number(self.address)

    def of(self, rank, like, part=0):
        """What a rank of the group said."""
        if rank == self.me or self.post.solo:
            packed = self._own.get(part, _UNKNOWN)
        else:
            packed = self.post.receive("%s/%d/%s" % (self.key, rank, part))
        return self.post.unpack(packed, like)

    def all(self, like, part=0):
        return [self.of(rank, like, part) for rank in range(self.size)]
