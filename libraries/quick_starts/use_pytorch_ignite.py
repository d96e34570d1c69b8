"""A trainer and an evaluator with events, metrics and a schedule of the learning rate."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.handlers import ModelCheckpoint
from ignite.handlers.param_scheduler import CosineAnnealingScheduler
from ignite.metrics import Accuracy, Loss, Precision, RunningAverage
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(40, 4)
loader = DataLoader(TensorDataset(x, (x.sum(1) > 0).long()), batch_size=8)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
metrics = {"accuracy": Accuracy(), "loss": Loss(criterion), "precision": Precision(average=True)}
evaluator = create_supervised_evaluator(model, metrics=metrics)
RunningAverage(output_transform=lambda loss: loss).attach(trainer, "running")
schedule = CosineAnnealingScheduler(optimizer, "lr", 0.1, 0.01, 10)
trainer.add_event_handler(Events.ITERATION_STARTED, schedule)
saving = ModelCheckpoint("saved", n_saved=1)
trainer.add_event_handler(Events.EPOCH_COMPLETED, saving, {"model": model})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(loader)
    print(engine.state.epoch, *(evaluator.state.metrics[name] for name in sorted(metrics)))


trainer.run(loader, max_epochs=3)
print(trainer.state.metrics["running"], optimizer.param_groups[0]["lr"])
