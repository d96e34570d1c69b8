"""Tiny GPT-2, Llama and BERT with random weights: training steps and generated tokens."""

import torch
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    GPT2Config,
    GPT2LMHeadModel,
    LlamaConfig,
    LlamaForCausalLM,
)

torch.manual_seed(0)
tokens = torch.randint(0, 50, (4, 16))
gpt = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=64, n_embd=32, n_layer=2, n_head=2))
llama = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=50,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
    )
)
bert = BertForSequenceClassification(
    BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
    )
)
labels = {gpt: tokens, llama: tokens, bert: torch.tensor([0, 1, 1, 0])}
for model, target in labels.items():
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(3):
        loss = model(input_ids=tokens, labels=target).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        print(loss.item())
gpt.eval()
print(gpt.generate(tokens[:1, :4], max_new_tokens=8, do_sample=False, pad_token_id=0)[0].tolist())
