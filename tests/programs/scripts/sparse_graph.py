# SPDX-License-Identifier: Apache-2.0
"""PyTorch Geometric: a heterogeneous graph by its loader of neighbours, and a graph transformer over batches of small graphs."""
import torch
from torch_geometric.data import Data, HeteroData
from torch_geometric.loader import DataLoader
from torch_geometric.nn import SAGEConv, TransformerConv, global_mean_pool, to_hetero
from torch_geometric.nn.models import SchNet


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = SAGEConv((-1, -1), 32), SAGEConv((-1, -1), 4)

    def forward(self, x, edges):
        return self.second(self.first(x, edges).relu(), edges)


whole = HeteroData()
whole["user"].x, whole["item"].x = torch.randn(200, 16), torch.randn(300, 24)
whole["user", "buys", "item"].edge_index = torch.stack([torch.randint(0, 200, (900,)), torch.randint(0, 300, (900,))])
whole["item", "bought_by", "user"].edge_index = whole["user", "buys", "item"].edge_index.flip(0)
whole = whole.to("cuda")
hetero = to_hetero(Net(), whole.metadata()).cuda()
with torch.no_grad():
    hetero(whole.x_dict, whole.edge_index_dict)
attending, classes = TransformerConv(16, 32, heads=2, concat=False).cuda(), torch.nn.Linear(32, 3).cuda()
atoms = SchNet(hidden_channels=32, num_filters=32, num_interactions=2, interaction_graph=lambda pos, batch: (edges_of(batch), weights_of(pos, batch))).cuda()


def edges_of(batch):
    same = batch.unsqueeze(0) == batch.unsqueeze(1)
    return same.fill_diagonal_(False).nonzero().t().contiguous()


def weights_of(pos, batch):
    edges = edges_of(batch)
    return (pos[edges[0]] - pos[edges[1]]).norm(dim=-1)


graphs = [Data(x=torch.randn(n, 16), edge_index=torch.randint(0, n, (2, 3 * n)), y=torch.tensor([n % 3]), z=torch.randint(1, 9, (n,)),
               pos=torch.randn(n, 3)) for n in range(5, 29)]
optimizer = torch.optim.Adam([*hetero.parameters(), *attending.parameters(), *classes.parameters(), *atoms.parameters()])
for batch in DataLoader(graphs, batch_size=8, shuffle=True):
    batch = batch.to("cuda")
    out = classes(global_mean_pool(attending(batch.x, batch.edge_index), batch.batch))
    loss = torch.nn.functional.cross_entropy(out, batch.y) + atoms(batch.z, batch.pos, batch.batch).square().mean()
    (loss + hetero(whole.x_dict, whole.edge_index_dict)["item"].square().mean()).backward()
    optimizer.step()
    optimizer.zero_grad()
