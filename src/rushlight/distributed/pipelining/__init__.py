"""`torch.distributed.pipelining`: stages in several processes are refused."""

from ..._errors import refuse_all as _refuse_all
from ..._missing import missing_name as _missing_name

globals().update(
    _refuse_all(
        "torch.distributed.pipelining",
        """Pipe PipelineStage Schedule1F1B ScheduleGPipe ScheduleInterleaved1F1B
        ScheduleInterleavedZeroBubble ScheduleLoopedBFS ScheduleZBVZeroBubble SplitPoint build_stage
        pipe_split pipeline""",
        "processes do not talk to each other here.",
    )
)

__getattr__ = _missing_name(__name__)
