// The camera: what part of the drawing is seen, and how it moves by pointer, wheel and keys.

const LEAST = 0.05;
const MOST = 4;
const LARGE = 1.25; // a small graph is not blown up beyond this
const MARGIN = 26;
const GOOD = 0.75; // what a fit may lose to leave the legend free

/** A camera over an SVG group; `moved` is told of each move. */
function makeCamera(canvas, group) {
  const camera = { x: 0, y: 0, scale: 1 };
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  let flight = 0;
  let aim = { ...camera }; // where the glide ends; what is done meanwhile starts from there

  const apply = () => {
    group.setAttribute("transform", `translate(${camera.x} ${camera.y}) scale(${camera.scale})`);
    canvas.dataset.scale = camera.scale.toFixed(4);
  };
  const size = () => ({ width: canvas.clientWidth || 1, height: canvas.clientHeight || 1 });

  /** Go to a place, in a short glide unless motion is unwelcome. */
  const go = (to, glide) => {
    cancelAnimationFrame(flight);
    aim = { ...camera, ...to };
    if (!glide || calm.matches) {
      Object.assign(camera, to);
      apply();
      return;
    }
    const from = { ...camera };
    const start = performance.now();
    const step = (now) => {
      const t = Math.min(1, (now - start) / 220);
      const ease = 1 - (1 - t) ** 3;
      for (const key of ["x", "y", "scale"]) camera[key] = from[key] + (to[key] - from[key]) * ease;
      apply();
      if (t < 1) flight = requestAnimationFrame(step);
    };
    flight = requestAnimationFrame(step);
  };

  const zoomAt = (factor, px, py, glide) => {
    const scale = Math.min(MOST, Math.max(LEAST, aim.scale * factor));
    const by = scale / aim.scale;
    go({ scale, x: px - (px - aim.x) * by, y: py - (py - aim.y) * by }, glide);
  };

  /** The camera that shows a box as large as the canvas, or an area of it, allows. */
  const fitting = (box, area) => {
    const { x, y, width, height } = { x: 0, y: 0, ...size(), ...area };
    const scale = Math.max(
      LEAST,
      Math.min(
        LARGE,
        (width - 2 * MARGIN) / (box.width || 1),
        (height - 2 * MARGIN) / (box.height || 1),
      ),
    );
    return {
      scale,
      x: x + width / 2 - (box.x + box.width / 2) * scale,
      y: y + height / 2 - (box.y + box.height / 2) * scale,
    };
  };

  return {
    camera,
    apply,
    pan: (dx, dy) => go({ ...aim, x: aim.x + dx, y: aim.y + dy }),
    zoom: (factor) => zoomAt(factor, size().width / 2, size().height / 2, true),
    zoomAt,
    fitting,
    /** Show the whole of {x, y, width, height}; beside or above what is covered, where that is large. */
    fit(box, glide, covered) {
      const { width, height } = size();
      const whole = fitting(box);
      const top = whole.y + (box.y + box.height) * whole.scale;
      const hidden =
        covered && whole.x + box.x * whole.scale < covered.width && top > height - covered.height;
      const free = hidden
        ? [
            fitting(box, { x: covered.width, width: width - covered.width }),
            fitting(box, { height: height - covered.height }),
          ]
        : [];
      const best = nearest(free, (to) => -to.scale);
      go(best && best.scale > GOOD * whole.scale ? best : whole, glide);
    },
    /** Show the top of {x, y, width, height}, or its left end, at a scale; `first` is in sight. */
    begin(box, scale, covered, first) {
      const { width, height } = size();
      const wide = box.width * scale;
      const high = box.height * scale;
      const left = (covered?.width ?? 0) + MARGIN;
      /** Where a drawing that is too large begins. */
      const from = (room, middle, size) =>
        Math.min(MARGIN, Math.max(room / 2 - middle * scale, room - MARGIN - size));
      const x =
        wide < width - 2 * MARGIN
          ? Math.max((width - wide) / 2, Math.min(left, width - wide - MARGIN))
          : from(width, first.x - box.x, wide);
      const y =
        high < height - 2 * MARGIN ? (height - high) / 2 : from(height, first.y - box.y, high);
      go({ scale, x: x - box.x * scale, y: y - box.y * scale }, false);
    },
    /** Bring a point to the middle, near enough to read. */
    centre(point, glide = true) {
      const { width, height } = size();
      const scale = Math.max(camera.scale, 0.8);
      go({ scale, x: width / 2 - point.x * scale, y: height / 2 - point.y * scale }, glide);
    },
    /** Whether a point, and as much as `around` it, is inside and large enough to read. */
    sees(point, around) {
      const { width, height } = size();
      const x = point.x * camera.scale + camera.x;
      const y = point.y * camera.scale + camera.y;
      const wide = ((around?.width ?? 40) / 2) * camera.scale;
      const high = ((around?.height ?? 40) / 2) * camera.scale;
      return camera.scale > 0.35 && x > wide && y > high && x < width - wide && y < height - high;
    },
    /** Bring {x, y, width, height} into sight by the least move; its start where it is too large. */
    include(box) {
      const { width, height } = size();
      const least = (from, extent, room) => {
        if (extent > room - 2 * MARGIN)
          return Math.min(MARGIN, Math.max(room - MARGIN - extent, MARGIN)) - from;
        return Math.max(MARGIN - from, Math.min(0, room - MARGIN - extent - from));
      };
      const x = least(box.x * aim.scale + aim.x, box.width * aim.scale, width);
      const y = least(box.y * aim.scale + aim.y, box.height * aim.scale, height);
      if (x || y) go({ ...aim, x: aim.x + x, y: aim.y + y }, true);
    },
    onScreen: (point) => ({
      x: point.x * camera.scale + camera.x,
      y: point.y * camera.scale + camera.y,
    }),
  };
}

/** Pan by dragging, zoom by wheel and by two fingers. A press that does not move is left alone. */
function followPointers(canvas, view) {
  const pointers = new Map();
  let moved = false;
  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    pointers.set(event.pointerId, local(event));
    if (pointers.size === 1) moved = false;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return;
    const now = local(event);
    const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
    if (other) {
      moved = true;
      const was = Math.hypot(before.x - other.x, before.y - other.y) || 1;
      const is = Math.hypot(now.x - other.x, now.y - other.y);
      view.pan((now.x - before.x) / 2, (now.y - before.y) / 2);
      view.zoomAt(is / was, (now.x + other.x) / 2, (now.y + other.y) / 2);
      pointers.set(event.pointerId, now);
    } else if (moved || Math.hypot(now.x - before.x, now.y - before.y) > 4) {
      if (!moved) canvas.setPointerCapture(event.pointerId);
      moved = true;
      canvas.classList.add("dragged");
      view.pan(now.x - before.x, now.y - before.y);
      pointers.set(event.pointerId, now);
    }
  });
  const end = (event) => {
    pointers.delete(event.pointerId);
    if (!pointers.size) canvas.classList.remove("dragged");
  };
  for (const name of ["pointerup", "pointercancel", "lostpointercapture"]) {
    canvas.addEventListener(name, end);
  }
  canvas.addEventListener(
    "click",
    (event) => {
      if (moved) event.stopPropagation();
      moved = false;
    },
    true,
  );
  canvas.addEventListener(
    "wheel",
    (event) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 16 : 1;
      const { x, y } = local(event);
      view.zoomAt(Math.exp(-event.deltaY * unit * (event.ctrlKey ? 0.01 : 0.0018)), x, y);
    },
    { passive: false },
  );
}
