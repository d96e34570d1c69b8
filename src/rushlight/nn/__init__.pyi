from . import attention as attention
from . import functional as functional
from . import init as init
from . import modules as modules
from . import parallel as parallel
from . import parameter as parameter
from . import utils as utils
from ._uninitialized import UninitializedBuffer as UninitializedBuffer
from ._uninitialized import UninitializedParameter as UninitializedParameter
from .modules import *
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import factory_kwargs as factory_kwargs
