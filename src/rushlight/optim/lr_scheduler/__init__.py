"""Learning-rate schedules: each sets `group["lr"]` of an optimizer when it is stepped, usually once
an epoch.
"""

from typing import TYPE_CHECKING

from ..._base.missing import missing_name as _missing_name
from ..._base.missing import show_whole as _show_whole
from ..optimizer import Optimizer as Optimizer
from ._base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING
from ._base import LRScheduler as LRScheduler
from ._base import _LRScheduler as _LRScheduler
from ._plateau import ReduceLROnPlateau as ReduceLROnPlateau
from ._rules import ConstantLR as ConstantLR
from ._rules import CosineAnnealingLR as CosineAnnealingLR
from ._rules import ExponentialLR as ExponentialLR
from ._rules import LambdaLR as LambdaLR
from ._rules import LinearLR as LinearLR
from ._rules import MultiplicativeLR as MultiplicativeLR
from ._rules import MultiStepLR as MultiStepLR
from ._rules import PolynomialLR as PolynomialLR
from ._rules import StepLR as StepLR

if TYPE_CHECKING:
    from ._composed import ChainedScheduler as ChainedScheduler
    from ._composed import SequentialLR as SequentialLR
    from ._cyclic import CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts
    from ._cyclic import CyclicLR as CyclicLR
    from ._cyclic import OneCycleLR as OneCycleLR

_late = {
    "ChainedScheduler": "_composed",
    "CosineAnnealingWarmRestarts": "_cyclic",
    "CyclicLR": "_cyclic",
    "OneCycleLR": "_cyclic",
    "SequentialLR": "_composed",
}
__all__ = [
    "ConstantLR",
    "CosineAnnealingLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "StepLR",
]
__all__ += _late

if not TYPE_CHECKING:  # to checkers a misspelt name is an error
    __getattr__ = _missing_name(__name__, late=_late)
_show_whole(__name__)
