"""`SummaryWriter`: what a training logs, as event files that TensorBoard shows."""

from __future__ import annotations

import os
import time
from importlib import import_module
from typing import Any, SupportsInt

from ..._base.errors import refused as _refused
from ..._base.missing import missing_name as _missing_name
from . import summary as summaries
from .summary import Message

__all__ = ["FileWriter", "SummaryWriter"]

Step = SupportsInt | None

_events: Message = import_module("tensorboard.compat.proto.event_pb2")
Event: Any = _events.Event
SessionLog: Any = _events.SessionLog
_EventFileWriter: Message = import_module(
    "tensorboard.summary.writer.event_file_writer"
).EventFileWriter


class FileWriter:
    """Writes events to a file in a folder."""

    def __init__(
        self, log_dir: object, max_queue: int = 10, flush_secs: int = 120, filename_suffix: str = ""
    ) -> None:
        self.event_writer: Message = _EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder."""
        return str(self.event_writer.get_logdir())

    def add_event(self, event: Message, step: Step = None, walltime: float | None = None) -> None:
        """Write an event."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: Step = None, walltime: float | None = None
    ) -> None:
        """Write an event of a summary."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: Any, walltime: float | None = None) -> None:
        """Write a graph, and on which device it ran."""
        graph, metadata = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        run = _events.TaggedRunMetadata(tag="step1", run_metadata=metadata.SerializeToString())
        self.add_event(Event(tagged_run_metadata=run), None, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Begin a new file."""
        self.event_writer.reopen()


def _default_bins() -> list[float]:
    edges, edge = [], 1e-12
    while edge < 1e20:
        edges.append(edge)
        edge *= 1.1
    return [-e for e in reversed(edges)] + [0.0] + edges


class SummaryWriter:
    """Logs to event files in a folder: "runs/" with the time and the host's name, if not told.

    purge_step: TensorBoard drops what was logged before from this step on. Also a context, which
    closes the files at its end.
    """

    flush_secs: int
    max_queue: int

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: int = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            import socket
            from datetime import datetime

            now = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir, self.purge_step = log_dir, purge_step
        self.max_queue, self.flush_secs = max_queue, flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self._get_file_writer()
        self.default_bins: list[float] = _default_bins()

    def _open(self, folder: object) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _get_file_writer(self) -> FileWriter:
        if self.all_writers is None or self.file_writer is None:
            writer = self.file_writer = self._open(self.log_dir)
            self.all_writers = {writer.get_logdir(): writer}
            if self.purge_step is not None:
                step, self.purge_step = self.purge_step, None
                writer.add_event(Event(step=step, file_version="brain.Event:2"))
                started = SessionLog(status=SessionLog.START)
                writer.add_event(Event(step=step, session_log=started))
        return self.file_writer

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def _add(self, made: object, step: Step, walltime: float | None) -> None:
        self._get_file_writer().add_summary(made, step, walltime)

    def add_scalar(
        self,
        tag: str,
        scalar_value: object,
        global_step: Step = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log one number."""
        made = summaries.scalar(tag, scalar_value, new_style, double_precision)
        self._add(made, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Step = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers that one chart shows: each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        assert self.all_writers is not None
        for tag, value in tag_scalar_dict.items():
            name = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if name not in self.all_writers:
                self.all_writers[name] = self._open(name)
            self.all_writers[name].add_summary(
                summaries.scalar(main_tag, value), global_step, walltime
            )

    def add_tensor(
        self, tag: str, tensor: Any, global_step: Step = None, walltime: float | None = None
    ) -> None:
        """Log all values of a tensor."""
        self._add(summaries.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: object,
        global_step: Step = None,
        bins: object = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log how values are distributed. bins: "tensorflow", or as those of numpy.histogram."""
        edges = self.default_bins if isinstance(bins, str) and bins == "tensorflow" else bins
        self._add(summaries.histogram(tag, values, edges, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Step = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram of which all is known."""
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError("len(bucket_limits) != len(bucket_counts), see the document.")
        made = summaries.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(made, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: object,
        global_step: Step = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log a picture: brightness in [0, 1], or bytes."""
        self._add(summaries.image(tag, img_tensor, 1, dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: object,
        global_step: Step = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log pictures, in a grid."""
        self._add(summaries.image(tag, img_tensor, 1, dataformats), global_step, walltime)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: object,
        box_tensor: Any,
        global_step: Step = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
    ) -> None:
        """Log a picture with boxes (left, top, right, bottom) drawn into it."""
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        made = summaries.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(made, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: object,
        global_step: Step = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of matplotlib, or a list of them, and close it if not told otherwise."""
        pixels = summaries.figure_to_image(figure, close)
        letters = "NCHW" if isinstance(figure, list) else "CHW"
        self.add_image(tag, pixels, global_step, walltime, letters)

    def add_video(
        self,
        tag: str,
        vid_tensor: object,
        global_step: Step = None,
        fps: int = 4,
        walltime: float | None = None,
    ) -> None:
        """Log a film (N, T, C, H, W)."""
        self._add(summaries.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: object,
        global_step: Step = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log sound of one channel, in [-1, 1]."""
        self._add(summaries.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self, tag: str, text_string: str, global_step: Step = None, walltime: float | None = None
    ) -> None:
        """Log a text, in Markdown."""
        self._add(summaries.text(tag, text_string), global_step, walltime)

    def add_graph(
        self,
        model: object,
        input_to_model: object = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log the calls of a run of the model, in evaluation, each in the box of its module."""
        made: Message = import_module("._graph", __package__)
        self._get_file_writer().add_graph(made.graph(model, input_to_model))

    add_onnx_graph: Any = _refused(
        "torch.utils.tensorboard.SummaryWriter.add_onnx_graph", "there is no ONNX here."
    )

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Step = None,
    ) -> None:
        """Log the settings and results of an experiment, in a folder of its own."""
        if type(hparam_dict) is not dict or type(metric_dict) is not dict:
            raise TypeError("hparam_dict and metric_dict should be dictionary.")
        parts = summaries.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = self._get_file_writer().get_logdir()
        name = run_name if run_name else str(time.time())
        with SummaryWriter(log_dir=os.path.join(folder, name)) as writer:
            for part in parts:
                writer._add(part, global_step, None)
            for key, value in metric_dict.items():
                writer.add_scalar(key, value, global_step)

    def add_embedding(
        self,
        mat: object,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Step = None,
        tag: str = "default",
        metadata_header: object = None,
    ) -> None:
        """Log points (N, D) for the projector; metadata: a label of each, label_img: a picture."""
        rows = summaries.make_np(mat)
        if rows.ndim != 2:
            raise AssertionError("mat should be 2D, where mat.size(0) is the number of data points")
        step = 0 if global_step is None else global_step
        subfolder = f"{str(step).zfill(5)}/{_as_path(tag)}"
        folder = os.path.join(self._get_file_writer().get_logdir(), subfolder)
        if os.path.exists(folder):
            print("warning: Embedding dir exists, did you set global_step for add_embedding()?")
        os.makedirs(folder, exist_ok=True)
        projector: Message = import_module("tensorboard.plugins.projector.projector_config_pb2")
        info = projector.EmbeddingInfo()
        info.tensor_name = f"{tag}:{str(step).zfill(5)}"
        info.tensor_path = os.path.join(subfolder, "tensors.tsv")
        if metadata is not None:
            if len(rows) != len(metadata):
                raise AssertionError("#labels should equal with #data points")
            info.metadata_path = os.path.join(subfolder, "metadata.tsv")
            _write_labels(os.path.join(folder, "metadata.tsv"), metadata, metadata_header)
        if label_img is not None:
            if len(rows) != label_img.shape[0]:
                raise AssertionError("#images should equal with #data points")
            info.sprite.image_path = os.path.join(subfolder, "sprite.png")
            info.sprite.single_image_dim.extend([label_img.shape[3], label_img.shape[2]])
            _write_sprite(os.path.join(folder, "sprite.png"), label_img)
        with open(os.path.join(folder, "tensors.tsv"), "w", encoding="utf-8") as file:
            for row in rows.tolist():
                file.write("\t".join(map(str, row)) + "\n")
        if not hasattr(self, "_projector_config"):
            self._projector_config = projector.ProjectorConfig()
        self._projector_config.embeddings.extend([info])
        formats: Message = import_module("google.protobuf.text_format")
        config = os.path.join(self._get_file_writer().get_logdir(), "projector_config.pbtxt")
        with open(config, "w", encoding="utf-8") as file:
            file.write(formats.MessageToString(self._projector_config))

    def add_pr_curve(
        self,
        tag: str,
        labels: object,
        predictions: object,
        global_step: Step = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision over recall of predictions in [0, 1] of labels 0 and 1."""
        made = summaries.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(made, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: object,
        false_positive_counts: object,
        true_negative_counts: object,
        false_negative_counts: object,
        precision: object,
        recall: object,
        global_step: Step = None,
        num_thresholds: int = 127,
        weights: object = None,
        walltime: float | None = None,
    ) -> None:
        """Log a curve of precision over recall of which all is known."""
        made = summaries.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
        )
        self._add(made, global_step, walltime)

    def add_custom_scalars(self, layout: dict[str, dict[str, Any]]) -> None:
        """Say which scalars are shown together."""
        self._add(summaries.custom_scalars(layout), None, None)

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show scalars as lines of one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show three scalars as a line and the margin around it."""
        if len(tags) != 3:
            raise AssertionError(f"Expected 3 tags, got {len(tags)}.")
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_mesh(
        self,
        tag: str,
        vertices: object,
        colors: object = None,
        faces: object = None,
        config_dict: object = None,
        global_step: Step = None,
        walltime: float | None = None,
    ) -> None:
        """Log points in space (N, count, 3), or the triangles between them."""
        made = summaries.mesh(tag, vertices, colors, faces, config_dict)
        self._add(made, global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files; logging afterwards opens new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def _as_path(tag: str) -> str:
    """A tag as the name of a folder."""
    for sign in "%/\\":
        tag = tag.replace(sign, f"%{ord(sign):02x}")
    return tag


def _write_labels(path: str, metadata: Any, header: Any) -> None:
    if header:
        if len(header) != len(metadata[0]):
            raise AssertionError("len of header must be equal to the number of columns in metadata")
        lines = ["\t".join(map(str, row)) for row in [header, *metadata]]
    else:
        lines = [str(x) for x in metadata]
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def _write_sprite(path: str, pictures: object) -> None:
    """Pictures in a square, as the projector wants them."""
    import math

    import numpy as np
    from PIL import Image

    array = summaries.make_np(pictures)
    grid = summaries.make_grid(array, math.ceil(len(array) ** 0.5)).transpose(1, 2, 0)
    square = np.zeros((grid.shape[1], grid.shape[1], 3))
    square[: grid.shape[0]] = grid
    Image.fromarray(np.uint8((square * 255).clip(0, 255))).save(path, format="PNG")


__getattr__ = _missing_name(__name__)
