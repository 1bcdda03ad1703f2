/* gaps.js - which distance of two points is a gap. */

/**
 * The least distance of two points that is a gap: one and a half steps, or four times the usual distance where points are rarer than steps.
 * @param {number} [step] ms, if it is known @param {number} [column] ms in which the server has left out points: what lies so near is no gap
 */
export function gapAfter(points, step = 0, column = 0) {
  if (points.length < 3)
    return step ? Math.max(step * 1.5, column * 2) : Infinity;
  const every = Math.max(1, Math.floor(points.length / 500));
  const distances = [];
  for (let i = every; i < points.length; i += every)
    distances.push(points[i][0] - points[i - 1][0]);
  distances.sort((a, b) => a - b);
  const usual = distances[distances.length >> 1];
  return Math.max(step && usual < step * 1.01 ? step * 1.5 : usual * 4, column * 2, 1);
}
