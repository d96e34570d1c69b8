"""Layers and losses: the functions of torch.nn.functional."""
