# SPDX-License-Identifier: Apache-2.0
"""alone.py: one process plays rank 1 of 4; what the others say is what it says itself. Run by memtape run --rank 1 --world 4."""
import torch
import torch.distributed as dist

dist.init_process_group("nccl")
me = dist.get_rank()
got, heard, every, gathered = [None], ["mine"], [None] * 4, [None] * 4
dist.scatter_object_list(scatter_object_output_list=got, scatter_object_input_list=["a", "b", "c", "d"], src=1)
sender = dist.recv_object_list(heard, src=3)
dist.send_object_list(["x"], dst=2)
dist.all_gather_object(object_list=every, obj=me)
dist.gather_object(me, object_gather_list=gathered, dst=1)
summed = torch.tensor([me, 2], device="cuda")
dist.all_reduce(summed)
counts = torch.empty(8, dtype=torch.long, device="cuda")
dist.all_gather_into_tensor(counts, torch.tensor([7, 8], device="cuda"))
found = [me, got, sender, heard, every, gathered, summed.tolist(), counts.tolist()]
right = [1, ["b"], 3, ["mine"], [1] * 4, [1] * 4, [4, 8], [7, 8] * 4]
print(found)
raise SystemExit(found != right)
