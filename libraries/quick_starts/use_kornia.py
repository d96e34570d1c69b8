"""Filters, edges, a warp with its gradient, and random augmentations."""

import kornia as K
import torch

torch.manual_seed(0)
image = torch.rand(1, 3, 24, 24)
gray = K.color.rgb_to_grayscale(image)
blurred = K.filters.gaussian_blur2d(gray, (5, 5), (1.5, 1.5))
magnitude, edges = K.filters.canny(gray)
print(blurred.sum().item(), magnitude.sum().item(), edges.sum().item())
angle = torch.tensor([10.0], requires_grad=True)
turned = K.geometry.rotate(image, angle)
turned.square().mean().backward()
print(turned.sum().item(), angle.grad.item())
augment = K.augmentation.AugmentationSequential(
    K.augmentation.RandomHorizontalFlip(p=0.5),
    K.augmentation.RandomAffine(degrees=15.0, p=1.0),
    K.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0),
    data_keys=["input"],
)
print(augment(image).sum().item())
