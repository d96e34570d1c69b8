// The products of convolutions with patches, shared among threads: Correlation for the forward and the input's gradient,
// WeightGradient for the weight's.
#include "bindings/layers/conv_products.h"

#include <atomic>
#include <cstring>

namespace rushlight::conv {
namespace {

// Results of a group that are summed in registers: few ones, since packing would cost more than it saves, and some more where
// patches are long, since what is computed between rows and copied then costs less than packing.
constexpr Py_ssize_t kFewRows = 4, kDirectRows = 32, kDirectDepth = 64;
constexpr ptrdiff_t kBlock = 256;          // places that one task computes where images are few
constexpr double kLaidBytes = 1 << 15;     // of planes that are laid out at a time, where a group has fewer

// At most this many elements of a patch, or results, are dot products; more are a product.
constexpr Py_ssize_t kDotDepth = 32, kDotRows = 4;

// As many tasks of so much work as are worth a thread.
ptrdiff_t grain_of(double work) { return static_cast<ptrdiff_t>(kParallelWork / (work + 1)) + 1; }

}  // namespace

// Places of one image that are fewer than this are computed with those of others: panels then are full.
constexpr ptrdiff_t kSmallImage = 256, kImagesTogether = 512;

bool Correlation::direct() const {
  return planes.laid && (rows <= kFewRows || (rows <= kDirectRows && phases[0].depth() >= kDirectDepth));
}

bool Correlation::run() {
  double size = 0;
  for (Phase& phase : phases) {
    phase.filters = static_cast<ptrdiff_t>(size);
    size += static_cast<double>(groups) * static_cast<double>(rows) * static_cast<double>(phase.depth());
  }
  Workspace packed(size * static_cast<double>(item()));
  if (!packed.p) return false;
  filters = &packed;
  parallel(groups, grain_of(size / static_cast<double>(groups)), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (const Phase& phase : phases)
      for (Py_ssize_t group = begin; group < end; group++)
        dense_kernels().pack_filters(type, weights + group * weights_group * item(), weights_row, phase.columns.data(), rows,
                                     phase.depth(), bias ? bias + group * rows * item() : nullptr, !direct(),
                                     packed.p + (phase.filters + group * rows * phase.depth()) * item());
  });
  const Py_ssize_t units = batch * groups, threads = work < kParallelWork ? 1 : get_num_threads();
  if (threads == 1 || units >= 2 * threads) {
    const Py_ssize_t together = std::min(kImagesTogether / std::max<ptrdiff_t>(1, most_places()), units / (2 * threads));
    return !direct() && batch > 1 && together > 1 && beside <= 2 && most_places() < kSmallImage
               ? run_images(std::min(together, batch))
               : run_units();
  }
  Workspace laid(laid_size()), results(scattered ? results_size() : 0);
  if (!laid.p || !results.p) return false;
  for (Py_ssize_t unit = 0; unit < units; unit++)
    if (!run_unit(unit, laid.p, results.p)) return false;
  return true;
}

// Groups of images are the tasks; some groups of one image at a time where they are small.
bool Correlation::run_units() {
  const Py_ssize_t units = batch * groups;
  const Py_ssize_t together = static_cast<Py_ssize_t>(std::clamp(kLaidBytes / (laid_size() + 1), 1.0, 64.0));
  std::atomic<bool> failed{false};
  parallel(units, grain_of(work / static_cast<double>(units)), [&](ptrdiff_t begin, ptrdiff_t end) {
    const double most = static_cast<double>(std::min(together, end - begin));
    Workspace laid(laid_size() * most), results(scattered ? results_size() * most : 0), scratch(scratch_size());
    if (!laid.p || !results.p || !scratch.p) return failed.store(true, std::memory_order_relaxed);
    const ptrdiff_t to_row = scattered ? most_places() : plane;
    Py_ssize_t n;
    for (Py_ssize_t unit = begin; unit < end; unit += n) {
      n = std::min({together, end - unit, groups - unit % groups});
      if (planes.laid) planes.lay(type, source(unit), 0, n * planes.channels, laid.p);
      const char* from = planes.laid ? laid.p : source(unit);
      for (size_t i = 0; i < phases.size(); i++) {
        const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
        char* to = scattered ? results.p + turn * n * rows * to_row * item() : target(unit);
        const Phase& phase = phases[i];
        if (direct())
          dense_kernels().conv_direct(type, patch_of(phase, from), n, unit_pitch(), filters_of(phase, unit % groups), rows,
                                      scratch.p, to, to_row);
        else
          for (Py_ssize_t u = 0; u < n; u++)
            dense_kernels().conv_product(type, patch_of(phase, from + u * unit_pitch() * item()), 0,
                                         filters_of(phase, (unit + u) % groups), rows, 0, phase.places.count(), scratch.p,
                                         to + u * rows * to_row * item(), to_row);
        if (scattered && turn == beside - 1)
          put(&phases[i - static_cast<size_t>(turn)], results.p, to_row, n * rows * to_row, n * rows, target(unit));
      }
    }
  });
  return !failed.load();
}

// One group of some images is a task.
bool Correlation::run_images(Py_ssize_t together) {
  const Py_ssize_t blocks = (batch + together - 1) / together;
  std::atomic<bool> failed{false};
  parallel(blocks * groups, grain_of(work / static_cast<double>(blocks * groups)), [&](ptrdiff_t begin, ptrdiff_t end) {
    const double most = static_cast<double>(together);
    Workspace laid(laid_size() * most), results(results_size() * most), scratch(scratch_size());
    if (!laid.p || !results.p || !scratch.p) return failed.store(true, std::memory_order_relaxed);
    for (Py_ssize_t task = begin; task < end; task++) {
      const Py_ssize_t group = task % groups, first = task / groups * together, n = std::min(together, batch - first);
      for (Py_ssize_t u = 0; planes.laid && u < n; u++)
        planes.lay(type, source((first + u) * groups + group), 0, planes.channels, laid.p + u * unit_pitch() * item());
      const char* from = planes.laid ? laid.p : source(first * groups + group);
      const ptrdiff_t to_row = n * most_places();
      for (size_t i = 0; i < phases.size(); i++) {
        const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
        const Phase& phase = phases[i];
        const ptrdiff_t places = phase.places.count();
        dense_kernels().conv_product(type, patch_of(phase, from), planes.laid ? unit_pitch() : groups * unit_pitch(),
                                     filters_of(phase, group), rows, 0, n * places, scratch.p,
                                     results.p + turn * rows * to_row * item(), to_row);
        if (turn < beside - 1) continue;
        // Images begin elsewhere in the results of each phase.
        const Phase& before = phases[i - static_cast<size_t>(turn)];
        const ptrdiff_t less = before.places.count() - places;
        for (Py_ssize_t u = 0; u < n; u++)
          put(&before, results.p + u * before.places.count() * item(), to_row, rows * to_row - u * less, rows,
              target((first + u) * groups + group));
      }
    }
  });
  return !failed.load();
}

// Channels of one unit are tasks while they are laid out, then blocks of places are.
bool Correlation::run_unit(Py_ssize_t unit, char* laid, char* results) {
  const double unit_work = work / static_cast<double>(batch * groups);
  std::atomic<bool> failed{false};
  if (planes.laid)
    parallel(planes.channels, grain_of(static_cast<double>(planes.channel_pitch())),
             [&](ptrdiff_t begin, ptrdiff_t end) { planes.lay(type, source(unit), begin, end, laid); });
  const ptrdiff_t to_row = scattered ? most_places() : plane;
  for (size_t i = 0; i < phases.size(); i++) {
    const Phase& phase = phases[i];
    const Py_ssize_t turn = static_cast<Py_ssize_t>(i) % beside;
    const Grid all = phase.places;
    char* to = scattered ? results + turn * rows * to_row * item() : target(unit);
    const char* from = planes.laid ? laid : source(unit);
    // Sums in registers run along whole rows: slices, or rows of one slice, are then the blocks.
    const bool slices = all.d > 1;
    const ptrdiff_t block = !direct() ? kBlock : slices ? all.h * all.w : all.w;
    const ptrdiff_t blocks = (all.count() + block - 1) / block;
    const double block_work = unit_work / static_cast<double>(phases.size()) / static_cast<double>(blocks + 1);
    parallel(blocks, grain_of(block_work), [&](ptrdiff_t begin, ptrdiff_t end) {
      Workspace scratch(scratch_size());
      if (!scratch.p) return failed.store(true, std::memory_order_relaxed);
      Patch patch = patch_of(phase, from);
      if (!direct())
        return dense_kernels().conv_product(type, patch, 0, filters_of(phase, unit % groups), rows, begin * block,
                                            std::min(end * block, all.count()), scratch.p, to, to_row);
      (slices ? patch.places.d : patch.places.h) = end - begin;
      patch.planes = from + begin * (slices ? all.d_step : all.h_step) * item();
      dense_kernels().conv_direct(type, patch, 1, 0, filters_of(phase, unit % groups), rows, scratch.p, to + begin * block * item(),
                                  to_row);
    });
    if (scattered && turn == beside - 1)
      parallel(rows, grain_of(static_cast<double>(beside * to_row)), [&](ptrdiff_t begin, ptrdiff_t end) {
        put(&phases[i - static_cast<size_t>(turn)], results + begin * to_row * item(), to_row, rows * to_row, end - begin,
            target(unit) + begin * plane * item());
      });
  }
  return !failed.load();
}

bool WeightGradient::dots() const { return planes.laid && (g.patch() <= kDotDepth || g.out_group() <= kDotRows); }

// Adds to sums[k][o] what the images [from, to) give, for the channels [c_from, c_to).
bool WeightGradient::sum_products(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t c_from, Py_ssize_t c_to,
                                  char* sums) const {
  const DenseKernels& kernels = dense_kernels();
  const Py_ssize_t outputs = g.out_group(), places = g.places(), channels = c_to - c_from;
  // Small images are taken together, so that sums are not loaded and stored for few places.
  const Py_ssize_t together = planes.laid ? std::clamp<Py_ssize_t>(512 / places, 1, to - from) : to - from;
  const ptrdiff_t image_pitch = g.in_channels * g.in_plane();
  const ptrdiff_t pitch = planes.laid ? channels * planes.channel_pitch() : image_pitch;
  Workspace laid(planes.laid ? static_cast<double>(pitch) * static_cast<double>(together) * static_cast<double>(item()) : 0);
  Workspace scratch(static_cast<double>(kernels.conv_weight_scratch(outputs)));
  if (!laid.p || !scratch.p) return false;
  for (Py_ssize_t image = from; image < to; image += together) {
    const Py_ssize_t n = std::min(together, to - image);
    const char* source = images + (image * g.in_channels + group * g.in_group() + c_from) * g.in_plane() * item();
    if (planes.laid)
      for (Py_ssize_t i = 0; i < n; i++)
        planes.lay(type, source + i * image_pitch * item(), 0, channels, laid.p + i * pitch * item());
    // The offsets of the first channels are those of all the others, seen from their first plane.
    const Patch patch{planes.laid ? laid.p : source, phase.offsets.data(), channels * g.taps(), phase.places, planes.laid};
    kernels.conv_weight(type, patch, n, pitch, grad + (image * g.out_channels + group * outputs) * places * item(), places,
                        g.out_channels * places, outputs, scratch.p, sums + c_from * g.taps() * outputs * item());
  }
  return true;
}

// Adds to sums[group][o][k][lane], for n groups. The gradient is laid out with rows as far apart as those of the planes.
bool WeightGradient::sum_dots(Py_ssize_t from, Py_ssize_t to, Py_ssize_t group, Py_ssize_t n, char* sums) const {
  const DenseKernels& kernels = dense_kernels();
  const Py_ssize_t outputs = g.out_group(), width = phase.places.h_step;
  const ptrdiff_t more = (kernels.lane_bytes / item() + width - 1) / width;  // rows of zeros for the last register
  const Axes axes{Axis{g.out[0], 0, 1, g.out[0]}, Axis{g.out[1], 0, 1, g.out[1] + more}, Axis{g.out[2], 0, 1, width}};
  const ptrdiff_t slice = axes[1].plane * width, pitch = slice * g.out[0];
  const ptrdiff_t group_pitch = planes.channels * planes.channel_pitch();
  const double row = static_cast<double>(slice) * static_cast<double>(item());
  Workspace laid(static_cast<double>(n) * planes.elements() * static_cast<double>(item())), inside(row);
  Workspace laid_grad(static_cast<double>(n * outputs * g.out[0]) * row);
  if (!laid.p || !laid_grad.p || !inside.p) return false;
  std::memset(inside.p, 0, static_cast<size_t>(slice * item()));
  for (Py_ssize_t h = 0; h < g.out[1]; h++)
    std::memset(inside.p + h * width * item(), 0xff, static_cast<size_t>(g.out[2] * item()));
  for (Py_ssize_t image = from; image < to; image++) {
    planes.lay(type, images + (image * g.in_channels + group * g.in_group()) * g.in_plane() * item(), 0, n * planes.channels,
               laid.p);
    kernels.lay_planes(type, grad + (image * g.out_channels + group * outputs) * g.places() * item(), g.places(), axes.data(),
                       n * outputs, laid_grad.p, pitch);
    const Patch patch{laid.p, phase.offsets.data(), g.patch(), phase.places, true};
    kernels.conv_dots(type, patch, n, group_pitch, laid_grad.p, pitch, slice, outputs, inside.p, sums);
  }
  return true;
}

// out = the sums of the parts, added in their order.
template <class T>
void WeightGradient::add_parts(char* sums, Py_ssize_t parts) const {
  const Py_ssize_t patch = g.patch(), outputs = g.out_group(), lanes = dots() ? dense_kernels().lane_bytes / item() : 1;
  const Py_ssize_t size = patch * outputs;
  parallel(g.groups, grain_of(static_cast<double>(size * parts * lanes)), [&](ptrdiff_t begin, ptrdiff_t end) {
    for (Py_ssize_t group = begin; group < end; group++) {
      T* to = reinterpret_cast<T*>(out) + group * size;
      T* first = reinterpret_cast<T*>(sums) + group * size * lanes;
      for (Py_ssize_t part = 1; part < parts; part++) {
        const T* from = first + part * g.groups * size * lanes;
        for (Py_ssize_t i = 0; i < size * lanes; i++) first[i] += from[i];
      }
      if (dots()) dense_kernels().add_lanes(type, first, size, to);
      else dense_kernels().transpose(type, first, patch, outputs, to);
    }
  });
}

// Tasks are groups, parts of the images and, in a product, some channels. Images are summed in a fixed number of parts,
// whatever the threads, so that the rounding is always the same; channels do not meet in a sum.
bool WeightGradient::run() {
  const Py_ssize_t size = g.patch() * g.out_group(), lanes = dots() ? dense_kernels().lane_bytes / item() : 1;
  const double part_size = static_cast<double>(g.groups) * static_cast<double>(size) * static_cast<double>(lanes * item());
  // A part has as many places as make adding it up cheap, and all parts some memory at most.
  constexpr double kLeastPlaces = 512, kSums = 1 << 22;
  const double all_places = static_cast<double>(g.batch) * static_cast<double>(g.places());
  const double most_parts = std::min({16.0, all_places / kLeastPlaces, kSums / part_size});
  const bool many = g.work() >= kParallelWork;
  const Py_ssize_t parts = many && g.groups < 16 ? std::clamp<Py_ssize_t>(static_cast<Py_ssize_t>(most_parts), 1, g.batch) : 1;
  const Py_ssize_t tasks_wanted = many && get_num_threads() > 1 ? 4 * get_num_threads() : 1;
  const Py_ssize_t cuts = dots() ? 1 : std::clamp<Py_ssize_t>(tasks_wanted / (g.groups * parts), 1, g.in_group());
  Workspace sums(part_size * static_cast<double>(parts));
  if (!sums.p) return false;
  std::memset(sums.p, 0, static_cast<size_t>(part_size) * static_cast<size_t>(parts));
  std::atomic<bool> failed{false};
  const Py_ssize_t tasks = g.groups * parts * cuts;
  const double laid_size = planes.elements() * static_cast<double>(item());
  const Py_ssize_t together = static_cast<Py_ssize_t>(std::clamp(kLaidBytes / (laid_size + 1), 1.0, 64.0));
  parallel(tasks, grain_of(g.work() / static_cast<double>(tasks)), [&](ptrdiff_t begin, ptrdiff_t end) {
    Py_ssize_t n;
    for (Py_ssize_t task = begin; task < end; task += n) {
      const Py_ssize_t cut = task % cuts, group = task / cuts % g.groups, part = task / cuts / g.groups;
      const Py_ssize_t from = part * g.batch / parts, to = (part + 1) * g.batch / parts;
      n = dots() ? std::min({together, end - task, g.groups - group}) : 1;
      char* own = sums.p + (part * g.groups + group) * size * lanes * item();
      const bool worked = dots() ? sum_dots(from, to, group, n, own)
                                 : sum_products(from, to, group, cut * g.in_group() / cuts, (cut + 1) * g.in_group() / cuts, own);
      if (!worked) failed.store(true, std::memory_order_relaxed);
    }
  });
  if (type == DType::F32) add_parts<float>(sums.p, parts);
  else add_parts<double>(sums.p, parts);
  return !failed.load();
}

}  // namespace rushlight::conv
