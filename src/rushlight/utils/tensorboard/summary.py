"""Summaries: TensorBoard's messages of scalars, histograms, pictures, sound, texts, curves."""

from __future__ import annotations

import io
import json
import math
import wave
from importlib import import_module
from typing import Any

from ..._base.missing import missing_name as _missing_name
from ..._base.outside import np, np_types
from ..._core import Tensor

Array = Any  # of NumPy
Message = Any  # of protobuf, whose classes say nothing of their fields
_PROTO = "tensorboard.compat.proto"
_summary: Message = import_module(f"{_PROTO}.summary_pb2")
_tensor: Message = import_module(f"{_PROTO}.tensor_pb2")
_shape: Message = import_module(f"{_PROTO}.tensor_shape_pb2")
Summary: Any = _summary.Summary
HistogramProto: Any = _summary.HistogramProto


def make_np(x: Any) -> Array:
    """A tensor, array or number as an array."""
    if isinstance(x, np_types.ndarray):
        return x
    if np.isscalar(x):
        return np.array([x])
    if isinstance(x, Tensor):
        from ... import _root as rl

        x = x.detach()
        return (x.to(rl.float16) if x.dtype is rl.bfloat16 else x).cpu().numpy()
    raise NotImplementedError(f"Got {type(x)}, but numpy array or torch tensor are expected.")


def _value(tag: str, **what: object) -> object:
    return Summary(value=[Summary.Value(tag=tag, **what)])


def _of_plugin(name: str, content: Any = None, **more: object) -> object:
    settings = {} if content is None else {"content": content.SerializeToString()}
    data = _summary.SummaryMetadata.PluginData(plugin_name=name, **settings)
    return _summary.SummaryMetadata(plugin_data=data, **more)


def _floats(data: Array) -> object:
    sizes = [_shape.TensorShapeProto.Dim(size=n) for n in data.shape]
    values = data.reshape(-1).tolist()
    shape = _shape.TensorShapeProto(dim=sizes)
    return _tensor.TensorProto(dtype="DT_FLOAT", float_val=values, tensor_shape=shape)


def scalar(
    name: str, tensor: object, new_style: bool = False, double_precision: bool = False
) -> Message:
    """One number."""
    array = make_np(tensor).squeeze()
    if array.ndim != 0:
        raise AssertionError(
            "Tensor should contain one element (0 dimensions). Was given size: "
            f"{array.size} and {array.ndim} dimensions."
        )
    number = float(array)
    if not new_style:
        return _value(name, simple_value=number)
    if double_precision:
        proto = _tensor.TensorProto(double_val=[number], dtype="DT_DOUBLE")
    else:
        proto = _tensor.TensorProto(float_val=[number], dtype="DT_FLOAT")
    return _value(name, tensor=proto, metadata=_of_plugin("scalars"))


def tensor_proto(tag: str, tensor: Tensor) -> Message:
    """All values of a tensor."""
    array = make_np(tensor)
    kinds = {
        **{"float32": ("DT_FLOAT", "float_val"), "float64": ("DT_DOUBLE", "double_val")},
        **{"int64": ("DT_INT64", "int64_val"), "bool": ("DT_BOOL", "bool_val")},
        **dict.fromkeys(("int8", "int16", "int32", "uint8"), ("", "int_val")),
    }
    kind = array.dtype.name
    if kind not in kinds:
        raise ValueError(f"{tag} has unsupported tensor dtype {tensor.dtype}")
    if array.nbytes >= 1 << 31:
        raise ValueError(f"{tag} is bigger than protocol buffer's hard limit of 2GB in size")
    name, field = kinds[kind]
    sizes = [_shape.TensorShapeProto.Dim(size=n) for n in array.shape]
    proto = _tensor.TensorProto(
        dtype=name or f"DT_{kind.upper()}",
        tensor_shape=_shape.TensorShapeProto(dim=sizes),
        **{field: array.reshape(-1).tolist()},
    )
    return _value(tag, tensor=proto, metadata=_of_plugin("tensor"))


def histogram_raw(
    name: str,
    min: float,
    max: float,
    num: int,
    sum: float,
    sum_squares: float,
    bucket_limits: object,
    bucket_counts: object,
) -> Message:
    """A histogram of which all is known."""
    return _value(
        name,
        histo=HistogramProto(
            min=min,
            max=max,
            num=num,
            sum=sum,
            sum_squares=sum_squares,
            bucket_limit=bucket_limits,
            bucket=bucket_counts,
        ),
    )


def histogram(name: str, values: object, bins: Any, max_bins: int | None = None) -> Message:
    """How many values are in which bin; bins without values before and after are left out."""
    array = make_np(values).astype(float).reshape(-1)
    if array.size == 0:
        raise ValueError("The input has no element.")
    counts, limits = np.histogram(array, bins=bins)
    if max_bins is not None and len(counts) > max_bins:
        step = len(counts) // max_bins
        if len(counts) % step:
            counts = np.pad(counts, (0, step - len(counts) % step))
        counts = counts.reshape(-1, step).sum(axis=-1)
        limits = np.append(limits[:-1:step][: counts.size], limits[-1])
    filled = np.flatnonzero(counts)
    if not filled.size:
        raise ValueError("The histogram is empty, please file a bug report.")
    # TensorBoard wants a bin without values in front: limits say where a bin ends.
    first, last = int(filled[0]), int(filled[-1]) + 1
    shown = counts[first - 1 : last] if first else np.concatenate([[0], counts[:last]])
    return histogram_raw(
        name,
        array.min(),
        array.max(),
        len(array),
        array.sum(),
        array.dot(array),
        limits[first : last + 1].tolist(),
        shown.tolist(),
    )


# ---- pictures


def make_grid(images: Array, ncols: int = 8) -> Array:
    """Pictures (N, 1 or 3, H, W) side by side, as one (3, H, W)."""
    if images.ndim != 4 or images.shape[1] not in (1, 3):
        raise AssertionError("Input should be a 4D numpy array with 3 channels")
    count, _, height, width = images.shape
    columns = min(count, ncols)
    rows = math.ceil(count / columns)
    canvas = np.zeros((3, height * rows, width * columns), dtype=images.dtype)
    for i, picture in enumerate(images):
        y, x = divmod(i, columns)
        canvas[:, y * height : (y + 1) * height, x * width : (x + 1) * width] = picture
    return canvas


def convert_to_HWC(array: Array, input_format: str) -> Array:
    """A picture whose dimensions letters name, as (H, W, channels)."""
    if len(set(input_format)) != len(input_format):
        raise AssertionError(
            "You can not use the same dimension shorthand twice. "
            f"            input_format: {input_format}"
        )
    if len(array.shape) != len(input_format):
        raise AssertionError(
            "size of input tensor and input format are different. "
            f"        tensor shape: {array.shape}, input_format: {input_format}"
        )
    letters = input_format.upper()
    if len(letters) == 4:
        grid = make_grid(array.transpose([letters.find(c) for c in "NCHW"]))
        return grid.transpose(1, 2, 0)
    if len(letters) == 3:
        array = array.transpose([letters.find(c) for c in "HWC"])
        return np.repeat(array, 3, axis=2) if array.shape[2] == 1 else array
    return np.stack([array.transpose([letters.find(c) for c in "HW"])] * 3, 2)


def _bytes(array: Array) -> Array:
    """Brightness in [0, 1], or of bytes, as bytes."""
    scale = 1 if array.dtype == np.uint8 else 255
    return (array.astype(np.float32) * scale).clip(0, 255).astype(np.uint8)


def _draw_boxes(picture: Any, boxes: Array, labels: Any) -> None:
    from PIL import ImageDraw, ImageFont

    draw, font = ImageDraw.Draw(picture), ImageFont.load_default()
    for i, (left, top, right, bottom) in enumerate(boxes[:, :4].tolist()):
        edge = [(left, top), (left, bottom), (right, bottom), (right, top), (left, top)]
        draw.line(edge, width=2, fill="Red")
        if labels is not None and labels[i]:
            x0, y0, x1, y1 = font.getbbox(labels[i])
            margin = math.ceil(0.05 * (y1 - y0))
            head = bottom - (y1 - y0) - 2 * margin
            draw.rectangle([(left, head), (left + x1 - x0, bottom)], fill="Red")
            draw.text((left + margin, head + margin), labels[i], fill="black", font=font)


def _picture(
    pixels: Array, rescale: float = 1, boxes: object = None, labels: object = None
) -> object:
    from PIL import Image

    height, width, channels = pixels.shape
    picture = Image.fromarray(pixels)
    if boxes is not None:
        _draw_boxes(picture, boxes, labels)
    sizes = int(width * rescale), int(height * rescale)
    file = io.BytesIO()
    picture.resize(sizes, Image.Resampling.LANCZOS).save(file, format="PNG")
    return Summary.Image(
        height=height, width=width, colorspace=channels, encoded_image_string=file.getvalue()
    )


def image(tag: str, tensor: object, rescale: float = 1, dataformats: str = "NCHW") -> Message:
    """A picture, or several in a grid."""
    pixels = _bytes(convert_to_HWC(make_np(tensor), dataformats))
    return _value(tag, image=_picture(pixels, rescale))


def image_boxes(
    tag: str,
    tensor_image: object,
    tensor_boxes: object,
    rescale: float = 1,
    dataformats: str = "CHW",
    labels: object = None,
) -> Message:
    """A picture with boxes (left, top, right, bottom) drawn into it."""
    pixels = _bytes(convert_to_HWC(make_np(tensor_image), dataformats))
    return _value(tag, image=_picture(pixels, rescale, make_np(tensor_boxes), labels))


def figure_to_image(figures: Any, close: bool = True) -> Array:
    """A figure of matplotlib as a picture (3, H, W); a list of them as (N, 3, H, W)."""
    if isinstance(figures, list):
        return np.stack([figure_to_image(f, close) for f in figures])
    import matplotlib.pyplot as plt
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas: Any = FigureCanvasAgg(figures)
    canvas.draw()
    width, height = figures.canvas.get_width_height()
    pixels: Array = np.frombuffer(canvas.buffer_rgba(), dtype=np.uint8)
    if close:
        plt.close(figures)
    return np.moveaxis(pixels.reshape(height, width, 4)[:, :, :3], 2, 0)


def video(tag: str, tensor: object, fps: int = 4) -> Message:
    """A film (N, T, C, H, W), of N side by side, as a GIF."""
    from PIL import Image

    frames = _bytes(make_np(tensor))
    pictures = [make_grid(np.ascontiguousarray(frames[:, t])) for t in range(frames.shape[1])]
    shown = [Image.fromarray(np.ascontiguousarray(p.transpose(1, 2, 0))) for p in pictures]
    file = io.BytesIO()
    settings = {"save_all": True, "duration": 1000 / fps, "loop": 0}
    shown[0].save(file, format="GIF", append_images=shown[1:], **settings)
    _, height, width = pictures[0].shape
    return _value(
        tag,
        image=Summary.Image(
            height=height, width=width, colorspace=3, encoded_image_string=file.getvalue()
        ),
    )


# ---- sound, texts, curves


def audio(tag: str, tensor: object, sample_rate: int = 44100) -> Message:
    """Sound of one channel, in [-1, 1]."""
    array = make_np(tensor).squeeze()
    if abs(array).max() > 1:
        print("warning: audio amplitude out of range, auto clipped.")
        array = array.clip(-1, 1)
    if array.ndim != 1:
        raise AssertionError("input tensor should be 1 dimensional.")
    samples = (array * np.iinfo(np.int16).max).astype("<i2")
    file = io.BytesIO()
    with wave.open(file, "wb") as written:
        written.setnchannels(1)
        written.setsampwidth(2)
        written.setframerate(sample_rate)
        written.writeframes(samples.tobytes())
    return _value(
        tag,
        audio=Summary.Audio(
            sample_rate=sample_rate,
            num_channels=1,
            length_frames=len(samples),
            encoded_audio_string=file.getvalue(),
            content_type="audio/wav",
        ),
    )


def text(tag: str, text: str) -> Message:
    """A text, in Markdown."""
    plugin: Message = import_module("tensorboard.plugins.text.plugin_data_pb2")
    shape = _shape.TensorShapeProto(dim=[_shape.TensorShapeProto.Dim(size=1)])
    proto = _tensor.TensorProto(
        dtype="DT_STRING", string_val=[text.encode(encoding="utf_8")], tensor_shape=shape
    )
    metadata = _of_plugin("text", plugin.TextPluginData(version=0))
    return _value(f"{tag}/text_summary", metadata=metadata, tensor=proto)


def compute_curve(
    labels: Array, predictions: Array, num_thresholds: int = 127, weights: object = None
) -> Array:
    """For each threshold: true and false positives, true and false negatives, precision, recall."""
    weight = 1.0 if weights is None else weights
    bucket = np.int32(np.floor(predictions * (num_thresholds - 1)))
    truth = labels.astype(np.float64)

    def above(what: Array) -> Array:
        edges = (0, num_thresholds - 1)
        counts, _ = np.histogram(bucket, bins=num_thresholds, range=edges, weights=what)
        return np.cumsum(counts[::-1])[::-1]

    tp, fp = above(truth * weight), above((1.0 - truth) * weight)
    tn, fn = fp[0] - fp, tp[0] - tp
    precision = tp / np.maximum(1e-7, tp + fp)
    recall = tp / np.maximum(1e-7, tp + fn)
    return np.stack((tp, fp, tn, fn, precision, recall))


def pr_curve_raw(
    tag: str,
    tp: object,
    fp: object,
    tn: object,
    fn: object,
    precision: object,
    recall: object,
    num_thresholds: int = 127,
    weights: object = None,
) -> Message:
    """A curve of precision over recall of which all is known."""
    plugin: Message = import_module("tensorboard.plugins.pr_curve.plugin_data_pb2")
    content = plugin.PrCurvePluginData(version=0, num_thresholds=min(num_thresholds, 127))
    data = np.stack([make_np(x) for x in (tp, fp, tn, fn, precision, recall)])
    return _value(tag, metadata=_of_plugin("pr_curves", content), tensor=_floats(data))


def pr_curve(
    tag: str, labels: object, predictions: object, num_thresholds: int = 127, weights: object = None
) -> Message:
    """Precision over recall of predictions in [0, 1] of labels 0 and 1."""
    count = min(num_thresholds, 127)
    data = compute_curve(make_np(labels), make_np(predictions), count, weights)
    tp, fp, tn, fn, precision, recall = data
    return pr_curve_raw(tag, tp, fp, tn, fn, precision, recall, count)


def hparams(
    hparam_dict: Any = None, metric_dict: Any = None, hparam_domain_discrete: Any = None
) -> tuple[Message, Message, Message]:
    """An experiment's settings and results: the description, the start and the end."""
    domains = hparam_domain_discrete or {}
    for name, given in (
        ("hparam_dict", hparam_dict),
        ("metric_dict", metric_dict),
        ("hparam_domain_discrete", domains),
    ):
        if not isinstance(given, dict):
            raise TypeError(f"parameter: {name} should be a dictionary, nothing logged.")
    for key, values in domains.items():
        kind = type(hparam_dict.get(key))
        if not (key in hparam_dict and isinstance(values, list)) or not all(
            isinstance(v, kind) for v in values
        ):
            raise TypeError(
                f"parameter: hparam_domain_discrete[{key}] should be a list of same type as "
                f"hparam_dict[{key}]."
            )
    api: Message = import_module("tensorboard.plugins.hparams.api_pb2")
    names: Message = import_module("tensorboard.plugins.hparams.metadata")
    plugin: Message = import_module("tensorboard.plugins.hparams.plugin_data_pb2")
    struct: Message = import_module("google.protobuf.struct_pb2")
    start, infos = plugin.SessionStartInfo(), []
    for key, value in hparam_dict.items():
        if value is None:
            continue
        if isinstance(value, Tensor):
            value = make_np(value).reshape(-1)[0]
            field, known = "number_value", "FLOAT64"
        elif isinstance(value, (int, float)):
            field, known = "number_value", "FLOAT64"
        elif isinstance(value, str):
            field, known = "string_value", "STRING"
        else:
            raise ValueError("value should be one of int, float, str, bool, or torch.Tensor")
        setattr(start.hparams[key], field, value)
        domain = None
        if key in domains:
            domain = struct.ListValue(values=[struct.Value(**{field: d}) for d in domains[key]])
        number = api.DataType.Value(f"DATA_TYPE_{known}")
        infos.append(api.HParamInfo(name=key, type=number, domain_discrete=domain))

    def part(tag: str, **what: object) -> object:
        content = plugin.HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **what)
        return _value(tag, metadata=_of_plugin(names.PLUGIN_NAME, content))

    metrics = [api.MetricInfo(name=api.MetricName(tag=k)) for k in metric_dict]
    experiment = api.Experiment(hparam_infos=infos, metric_infos=metrics)
    end = plugin.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
    return (
        part(names.EXPERIMENT_TAG, experiment=experiment),
        part(names.SESSION_START_INFO_TAG, session_start_info=start),
        part(names.SESSION_END_INFO_TAG, session_end_info=end),
    )


def custom_scalars(layout: dict[str, dict[str, Any]]) -> Message:
    """Which scalars are shown together: {category: {title: ["Multiline" or "Margin", tags]}}."""
    messages: Message = import_module("tensorboard.plugins.custom_scalar.layout_pb2")
    categories = []
    for title, charts in layout.items():
        shown = []
        for name, (kind, tags) in charts.items():
            if kind == "Margin":
                if len(tags) != 3:
                    raise AssertionError(f"Expected 3 tags, got {len(tags)}")
                series = messages.MarginChartContent.Series(
                    value=tags[0], lower=tags[1], upper=tags[2]
                )
                content = messages.MarginChartContent(series=[series])
                shown.append(messages.Chart(title=name, margin=content))
            else:
                content = messages.MultilineChartContent(tag=tags)
                shown.append(messages.Chart(title=name, multiline=content))
        categories.append(messages.Category(title=title, chart=shown))
    made = messages.Layout(category=categories).SerializeToString()
    proto = _tensor.TensorProto(
        dtype="DT_STRING", string_val=[made], tensor_shape=_shape.TensorShapeProto()
    )
    return _value("custom_scalars__config__", tensor=proto, metadata=_of_plugin("custom_scalars"))


def mesh(
    tag: str,
    vertices: object,
    colors: object,
    faces: object,
    config_dict: object,
    display_name: object = None,
) -> Message:
    """Points in space, or the triangles between them."""
    metadata: Message = import_module("tensorboard.plugins.mesh.metadata")
    kinds: Message = import_module("tensorboard.plugins.mesh.plugin_data_pb2").MeshPluginData
    given = [
        (make_np(x), kind)
        for x, kind in ((vertices, kinds.VERTEX), (faces, kinds.FACE), (colors, kinds.COLOR))
        if x is not None
    ]
    components = metadata.get_components_bitmask([kind for _, kind in given])
    config = json.dumps(config_dict, sort_keys=True) if config_dict is not None else "{}"
    values = []
    for array, kind in given:
        about = metadata.create_summary_metadata(
            tag, display_name, kind, components, array.shape, "", json_config=config
        )
        name = metadata.get_instance_name(tag, kind)
        values.append(Summary.Value(tag=name, tensor=_floats(array), metadata=about))
    return Summary(value=values)


__getattr__ = _missing_name(__name__)
