"""Levels: the transforms that run, and the tensors that stand for others meanwhile.

A wrapped tensor is an ordinary Tensor with an object attached (`_wrapped`): a `Dual` (a value and
its tangent) or a `Batch` (a value whose dimension 0 the program does not see). The array behind
(`_seen`) has the shape and dtype for the program; `_array` of a batch gives shape and dtype only
and refuses to be read (`opaque_array.py`). Values and tangents may be wrapped themselves, by older
levels: the younger level is always outside.

Every op that is given a wrapped tensor comes to `dispatch.py`. The youngest level among the
arguments answers (`Level.call`) with ops on the values within, and those find the next level. That
is all of nesting: no level knows of another, so tangents of two derivatives cannot be mixed up. A
new kind of level is one more file: see docs/design/0005-levels.md.

- running.py: which levels run in this thread; level.py: what a level answers, and what it attaches.
- dispatch.py: the object that the native core asks; structure.py: one level within several.
- settling.py: tensors that come to have a level, and their views; places.py: where they lie.
- dual.py: values with tangents; tangents.py: the tangents of ops.
- batch.py: values with a batch; batching*.py: what ops do with it; drawing.py: random numbers.
- composites.py: the few functions over ops that a level answers as a whole.
"""
