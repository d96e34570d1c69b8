"""`torch._dynamo.exc`: errors of PyTorch's compiler, for programs to name; none is ever raised."""


class TorchDynamoException(RuntimeError):
    """An error of PyTorch's compiler."""


class InternalTorchDynamoError(TorchDynamoException):
    """A fault in it."""


class TorchRuntimeError(TorchDynamoException):
    """An operation failed while it traced."""


class BackendCompilerFailed(TorchDynamoException):
    """A backend of it failed."""


class Unsupported(TorchDynamoException):
    """What it cannot compile."""


class UserError(Unsupported):
    """What it cannot compile by the program's own fault."""


class TensorifyScalarRestartAnalysis(TorchDynamoException):
    """It starts again."""
