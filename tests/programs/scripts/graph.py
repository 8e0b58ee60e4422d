# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: a GCN and a GAT on a drawn graph, with a mask of training nodes."""
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GATConv, GCNConv
from torch_geometric.utils import add_self_loops, coalesce

edges = coalesce(add_self_loops(torch.randint(0, 500, (2, 4000)))[0])
data = Data(x=torch.randn(500, 64), edge_index=edges, y=torch.randint(0, 7, (500,)), train_mask=torch.rand(500) < 0.3).to("cuda")
first, second = GCNConv(64, 128).cuda(), GATConv(128, 7, heads=2, concat=False).cuda()
optimizer = torch.optim.Adam([*first.parameters(), *second.parameters()])
for _ in range(3):
    out = second(first(data.x, data.edge_index).relu(), data.edge_index)
    torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()
    optimizer.step()
    optimizer.zero_grad()
print("%d nodes to train on" % int(data.train_mask.sum()))
