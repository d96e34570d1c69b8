"""LoRA on a tiny GPT-2."""

import torch
from peft import LoraConfig, TaskType, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=2))
config = LoraConfig(
    r=4, lora_alpha=8, task_type=TaskType.CAUSAL_LM, target_modules=["c_attn"], fan_in_fan_out=True
)
model = get_peft_model(base, config)
trainable, total = model.get_nb_trainable_parameters()
print(trainable, total)
tokens = torch.randint(0, 50, (4, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
for _ in range(4):
    loss = model(input_ids=tokens, labels=tokens).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    print(loss.item())
merged = model.merge_and_unload().eval()
print(merged(tokens).logits.sum().item())
