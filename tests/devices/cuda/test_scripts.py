"""Whole scripts for a GPU, on a device of CUDA."""

from _inside import HERE, ran
from test_as_cuda import SAID

SCRIPT = HERE.parents[1] / "data" / "gpu_script.txt"


def test_an_unedited_script(tmp_path):
    assert ran("-m", "rushlight", "run", SCRIPT, cwd=tmp_path) == SAID


SCALED = """
import torch
from torch import nn

torch.manual_seed(0)
x, y = torch.randn(64, 4).cuda(), torch.randn(64, 1).cuda()
net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)).cuda()
optimizer = torch.optim.Adam(net.parameters(), lr=0.02)
scaler = torch.cuda.amp.GradScaler()
losses = []
for _ in range(30):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        out = net(x)
        loss = nn.functional.mse_loss(out, y)
    assert out.dtype == torch.float16 and out.is_cuda
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    losses.append(loss.item())
print(losses[-1] < 0.8 * losses[0], scaler.get_scale())
"""


def test_a_script_with_scaled_gradients_in_float16(tmp_path):
    script = tmp_path / "train.py"
    script.write_text(SCALED)
    assert ran("-m", "rushlight", "run", script, cwd=tmp_path) == "True 65536.0\n"
