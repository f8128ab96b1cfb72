// Animated drawings of the benchmark systems; each takes the states in the order of the system.
import { around, SceneCanvas, turned } from "./scene-canvas.js";

const [sin, cos, PI] = [Math.sin, Math.cos, Math.PI];

/** Draws one moment: the goal in grey, the trajectory so far, the system, and its controls as bars. */
export function drawScene(ctx, { scene, bounds, motion, now, time, width, height, colors }) {
  const canvas = new SceneCanvas(ctx, width, height - 26, bounds, colors);
  scene.ground?.(canvas, motion);
  if (scene.goal) scene.draw(canvas, scene.goal, [], colors.muted, 0.3);
  if (scene.tip) canvas.line(trail(scene, motion, time), colors.series[1], 2, { alpha: 0.55 });
  scene.draw(canvas, now.x, now.u, colors.series[0], 1);
  controlBars(ctx, motion, now.u, width, height, colors);
}

function trail(scene, motion, time) {
  const end = motion.t.findIndex((t) => t > time);
  return motion.x.slice(0, end < 0 ? motion.x.length : end).map(scene.tip);
}

/** Each control as a bar from the centre, relative to its largest value in the episode. */
function controlBars(ctx, motion, controls, width, height, colors) {
  const count = controls.length;
  const each = Math.min(140, (width - 40) / Math.max(1, count));
  controls.forEach((value, i) => {
    const most = (motion.u ?? []).reduce((found, row) => Math.max(found, Math.abs(row[i] ?? 0)), 1e-12);
    const middle = width / 2 + (i - (count - 1) / 2) * each;
    ctx.fillStyle = colors.grid;
    ctx.fillRect(middle - 0.42 * each, height - 12, 0.84 * each, 4);
    ctx.fillStyle = colors.series[2];
    ctx.fillRect(middle, height - 13, 0.42 * each * Math.max(-1, Math.min(1, value / most)), 6);
    ctx.fillStyle = colors.quiet;
    ctx.fillRect(middle - 0.5, height - 15, 1, 10);
  });
}

const pendulum = {
  goal: [0, 0],
  bounds: () => [-1.25, -1.25, 1.25, 1.25],
  tip: ([theta]) => [sin(theta), cos(theta)],
  draw(canvas, [theta], _, color, alpha) {
    const bob = [sin(theta), cos(theta)];
    canvas.line([[0, 0], bob], color, 5, { alpha });
    canvas.disc(bob, 11, color, alpha);
    canvas.disc([0, 0], 5, canvas.colors.quiet, alpha);
  },
};

const POLE = 0.5;
const cartPole = {
  goal: [0, 0, 0, 0],
  bounds: (motion) =>
    around(
      motion.x.flatMap((x) => [
        [x[2] - POLE, -POLE],
        [x[2] + POLE, POLE],
      ]),
      1.4,
      0.15,
    ),
  tip: ([theta, , place]) => [place - POLE * sin(theta), POLE * cos(theta)],
  ground(canvas) {
    const [x] = canvas.center;
    canvas.line(
      [
        [x - 50, -0.05],
        [x + 50, -0.05],
      ],
      canvas.colors.grid,
      2,
    );
  },
  draw(canvas, x, _, color, alpha) {
    const tip = this.tip(x);
    canvas.shape(
      [
        [-0.14, -0.05],
        [0.14, -0.05],
        [0.14, 0.06],
        [-0.14, 0.06],
      ].map(([a, b]) => [a + x[2], b]),
      canvas.colors.quiet,
      alpha,
    );
    canvas.line([[x[2], 0], tip], color, 5, { alpha });
    canvas.disc(tip, 9, color, alpha);
  },
};

/** Oblique projection of a point in space. */
function projected([x, y, z]) {
  const [turn, tilt] = [0.6, 0.42];
  const [a, b] = [x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn)];
  return [a, z * cos(tilt) + b * sin(tilt)];
}

const furuta = {
  goal: [0, 0, 0, 0],
  bounds: () => [-2, -1.5, 2, 1.6],
  tip: ([phi, , theta]) => projected([cos(phi) - sin(theta) * sin(phi), sin(phi) + sin(theta) * cos(phi), cos(theta)]),
  ground(canvas) {
    const ring = Array.from({ length: 65 }, (_, i) => projected([cos((i * PI) / 32), sin((i * PI) / 32), 0]));
    canvas.line(ring, canvas.colors.grid, 1.5);
    canvas.line([projected([0, 0, -1]), projected([0, 0, 0])], canvas.colors.quiet, 8, { alpha: 0.35 });
  },
  draw(canvas, x, _, color, alpha) {
    const arm = projected([cos(x[0]), sin(x[0]), 0]);
    canvas.line([projected([0, 0, 0]), arm], canvas.colors.quiet, 6, { alpha });
    canvas.line([arm, this.tip(x)], color, 4, { alpha });
    canvas.disc(this.tip(x), 8, color, alpha);
    canvas.disc(arm, 4, canvas.colors.quiet, alpha);
  },
};

const bicycle = {
  goal: [2, 1, PI / 6, 0],
  bounds: (motion) => around([...motion.x.map((x) => [x[0], x[1]]), [2, 1], [0, 0]], 1.6, 0.7),
  tip: ([x, y]) => [x, y],
  draw(canvas, [x, y, heading], [steering = 0], color, alpha) {
    const place = (point) => turned(point, heading, [x, y]);
    const wheel = (at, angle) =>
      [
        [-0.13, 0],
        [0.13, 0],
      ].map((end) => place(turned(end, angle, at)));
    canvas.line([place([0, 0]), place([0.5, 0])], color, 3, { alpha });
    canvas.line(wheel([0, 0], 0), color, 8, { alpha });
    canvas.line(wheel([0.5, 0], Math.atan(steering)), canvas.colors.ink, 7, { alpha });
  },
};

const quadrotor2d = {
  goal: [0, 0, 0],
  bounds: (motion) => around([...motion.x.map((x) => [x[1], -x[0]]), [0, 0]], 1.4, 0.5),
  tip: ([z, y]) => [y, -z],
  draw(canvas, [z, y, phi], _, color, alpha) {
    const place = (point) => turned(point, -phi, [y, -z]);
    canvas.line([place([-0.28, 0]), place([0.28, 0])], color, 5, { alpha });
    for (const side of [-0.28, 0.28]) {
      canvas.line([place([side, 0]), place([side, 0.09])], color, 3, { alpha });
      canvas.line([place([side - 0.14, 0.09]), place([side + 0.14, 0.09])], canvas.colors.quiet, 3, { alpha });
    }
    canvas.disc(place([0, 0]), 6, color, alpha);
  },
};

/** The three body axes: Rz(psi) Rx(phi) Ry(theta). */
function bodyAxes([, , , , , , phi, theta, psi]) {
  const ry = ([x, y, z]) => [x * cos(theta) + z * sin(theta), y, -x * sin(theta) + z * cos(theta)];
  const rx = ([x, y, z]) => [x, y * cos(phi) - z * sin(phi), y * sin(phi) + z * cos(phi)];
  const rz = ([x, y, z]) => [x * cos(psi) - y * sin(psi), x * sin(psi) + y * cos(psi), z];
  return [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ].map((axis) => rz(rx(ry(axis))));
}

const quadrotor3d = {
  goal: [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0],
  bounds: (motion) =>
    around(
      [...motion.x, [0, 0, 0], [1, 1, 1]]
        .map((x) => projected(x))
        .concat([projected([1.3, 1.3, -0.4]), projected([-0.5, -0.5, -0.4])]),
      1.5,
      0.3,
    ),
  tip: (x) => projected(x),
  ground(canvas) {
    for (let k = -0.5; k <= 1.51; k += 0.25) {
      canvas.line([projected([k, -0.5, -0.4]), projected([k, 1.5, -0.4])], canvas.colors.grid, 1);
      canvas.line([projected([-0.5, k, -0.4]), projected([1.5, k, -0.4])], canvas.colors.grid, 1);
    }
  },
  draw(canvas, x, _, color, alpha) {
    const [right, front, up] = bodyAxes(x);
    const place = (a, b, c) => projected([0, 1, 2].map((i) => x[i] + a * right[i] + b * front[i] + c * up[i]));
    canvas.disc(projected([x[0], x[1], -0.4]), 5, canvas.colors.muted, 0.4 * alpha);
    canvas.line([projected([x[0], x[1], -0.4]), projected(x)], canvas.colors.muted, 1, { alpha: 0.4 * alpha, dash: [2, 4] });
    for (const [a, b] of [
      [0.2, 0],
      [-0.2, 0],
      [0, 0.2],
      [0, -0.2],
    ]) {
      canvas.line([place(0, 0, 0), place(a, b, 0)], color, 4, { alpha });
      const rotor = Array.from({ length: 17 }, (_unused, i) =>
        place(a + 0.1 * cos((i * PI) / 8), b + 0.1 * sin((i * PI) / 8), 0.03),
      );
      canvas.line(rotor, a > 0 ? canvas.colors.series[1] : canvas.colors.quiet, 2, { alpha });
    }
    canvas.disc(projected(x), 5, color, alpha);
  },
};

const hill = (x) => [x, 0.32 * sin(3 * x)];
const mountainCar = {
  goal: [PI / 6, 0],
  bounds: (motion) => around([...motion.x.map((x) => hill(x[0])), hill(-1.1), hill(0.8)], 1, 0.12),
  ground(canvas) {
    const [x] = canvas.center;
    canvas.line(
      Array.from({ length: 201 }, (_, i) => hill(x - 3 + 0.03 * i)),
      canvas.colors.quiet,
      2,
      { alpha: 0.6 },
    );
  },
  draw(canvas, [x], _, color, alpha) {
    const [place, slope] = [hill(x), Math.atan(0.96 * cos(3 * x))];
    const at = (point) => turned(point, slope, place);
    canvas.shape(
      [
        [-0.1, 0.04],
        [0.1, 0.04],
        [0.08, 0.12],
        [-0.08, 0.12],
      ].map(at),
      color,
      alpha,
    );
    for (const wheel of [-0.06, 0.06])
      canvas.disc(at([wheel, 0.035]), Math.max(4, 0.035 * canvas.scale), canvas.colors.ink, alpha);
  },
};

const SCENES = {
  pendulum,
  "cart-pole": cartPole,
  "furuta-pendulum": furuta,
  bicycle,
  "quadrotor-2d": quadrotor2d,
  "quadrotor-3d": quadrotor3d,
  "mountain-car": mountainCar,
};

/** The drawing of a system; `null` if it has none. */
export function sceneOf(name) {
  return Object.hasOwn(SCENES, name ?? "") ? SCENES[name] : null;
}
