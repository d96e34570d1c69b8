"""PPO on CartPole."""

import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=128, batch_size=64, seed=0, device="cpu")
model.learn(total_timesteps=512)
env = model.get_env()
env.seed(1)
observation = env.reset()
rewards = 0.0
for _ in range(100):
    action, _ = model.predict(observation, deterministic=True)
    observation, reward, done, _ = env.step(action)
    rewards += float(reward[0])
print(rewards, *[p.norm().item() for p in model.policy.parameters()])
