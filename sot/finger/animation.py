"""A record as an animation: a GIF, or one HTML file that needs nothing else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from sot.checks import writable
from sot.errors import ConfigError, missing
from sot.finger.bodies import number
from sot.finger.plot import colour
from sot.finger.record import Record, finger_force

WIDTH, HEIGHT, FLOOR = 640, 140, 100  # pixels
MOST = 1500  # pictures
SMALLEST = 6  # pixels, of a body that is a point


def animate(record: Record, path: str | Path, speed: float = 1.0, rate: float = 25.0) -> Path:
    """Write an animation; the name's end says of which kind."""
    writers = {".gif": _gif, ".html": _html}
    path = writable(path, *writers, what="an animation")
    speed, rate = number(speed, "speed", above=0.0), number(rate, "rate", above=0.0)
    count = round((record.time[-1] - record.time[0]) / speed * rate) + 1
    if count > MOST:
        raise ConfigError(f"{path}: {count} pictures are too many ({MOST} at most); raise the speed or lower the rate")
    writers[path.suffix.lower()](record, path, np.linspace(record.time[0], record.time[-1], max(count, 2)), rate)
    return path


def _view(record: Record) -> tuple[float, float]:
    """Left edge, m, and pixels per metre."""
    half = 0.5 * record.line.width
    low, high = float((record.x - half).min()), float((record.x + half).max())
    margin = 0.08 * (high - low) + 1e-3
    return low - margin, WIDTH / (high - low + 2.0 * margin)


def _boxes(record: Record, x: np.ndarray, left: float, scale: float) -> list[tuple[float, float]]:
    """Left and right edge of each body in pixels. A point is drawn to the side on which it touches nobody."""
    boxes = []
    for i, middle in enumerate(x):
        half = 0.5 * float(record.line.width[i])
        a, b = (middle - half - left) * scale, (middle + half - left) * scale
        if b - a < SMALLEST:
            a, b = (b - SMALLEST, b) if i <= record.line.finger else (a, a + SMALLEST)
        boxes.append((a, b))
    return boxes


# -- GIF ---------------------------------------------------------------------------------------------


def _gif(record: Record, path: Path, times: np.ndarray, rate: float) -> None:
    try:
        from PIL import Image, ImageDraw
    except ImportError:
        raise ConfigError(missing("pillow", "a GIF of a finger", "'sot[log]'")) from None
    motion, (left, scale) = record.at(times), _view(record)
    sensor = finger_force(record.line, motion.contact)
    largest = float(max(np.abs(motion.force).max(), np.abs(sensor).max(), 1e-9))
    pictures = []
    for k, time in enumerate(times):
        picture = Image.new("RGB", (WIDTH, HEIGHT), "white")
        draw = ImageDraw.Draw(picture)
        boxes = _boxes(record, motion.x[k], left, scale)
        for i, (a, b) in enumerate(boxes):
            draw.rectangle([a, 20 if record.line.walls[i] else 60, b, FLOOR], fill=colour(record, i))
        draw.line([0, FLOOR, WIDTH, FLOOR], fill="black")
        tip = boxes[record.line.finger][0]
        _arrow(draw, tip, 50, 60.0 * motion.force[k] / largest, "#888888")
        _arrow(draw, tip, 40, 60.0 * sensor[k] / largest, "#b23a48")
        applied, felt = (round(float(value), 2) + 0.0 for value in (motion.force[k], sensor[k]))  # + 0: no −0
        text = f"t = {time:.2f} s   applied {applied:.2f} N   sensor {felt:.2f} N"
        draw.text((8, 115), text, fill="black")
        pictures.append(picture.quantize(16))
    pictures[0].save(
        path, save_all=True, append_images=pictures[1:], duration=round(1000.0 / rate), loop=0, optimize=True
    )


def _arrow(draw: Any, x: float, y: float, length: float, fill: str) -> None:
    if abs(length) >= 1.0:
        end, back = x + length, np.copysign(min(6.0, abs(length)), length)
        draw.line([x, y, end, y], fill=fill, width=2)
        draw.polygon([(end, y), (end - back, y - 4), (end - back, y + 4)], fill=fill)


# -- HTML --------------------------------------------------------------------------------------------


def _html(record: Record, path: Path, times: np.ndarray, rate: float) -> None:
    motion, (left, scale) = record.at(times), _view(record)
    boxes = np.round([_boxes(record, x, left, scale) for x in motion.x], 1)  # (pictures, bodies, 2)
    data = {
        "names": record.line.names,
        "colours": [colour(record, i) for i in range(len(record.line.names))],
        "walls": record.line.walls.tolist(),
        "finger": record.line.finger,
        "rate": rate,
        "time": np.round(times, 4).tolist(),
        "boxes": boxes.reshape(len(times), -1).tolist(),
        "force": np.round(motion.force, 4).tolist(),
        "sensor": np.round(finger_force(record.line, motion.contact), 4).tolist(),
        "events": [[round(e.time, 4), f"{e.kind}: {', '.join(e.who)}"] for e in record.events],
    }
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("</", "<\\/")
    path.write_text(PAGE.replace("DATA", text), encoding="utf-8")


PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>finger</title>
<style>body{font:14px sans-serif;margin:1em}canvas{display:block;width:100%;max-width:960px}</style>
<canvas id="c" width="1280" height="480"></canvas>
<p><button id="play">pause</button> <input id="at" type="range" min="0" value="0" style="width:60%">
<span id="say"></span></p>
<script>
const D = DATA;
const canvas = document.getElementById("c"), g = canvas.getContext("2d"), at = document.getElementById("at");
const button = document.getElementById("play"), say = document.getElementById("say");
const last = D.time.length - 1, top_ = Math.max(1e-9, ...D.force.map(Math.abs), ...D.sensor.map(Math.abs));
let playing = true, begin = null, k = 0;
at.max = last;
function arrow(x, y, length, colour) {
  if (Math.abs(length) < 1) return;
  const back = Math.sign(length) * Math.min(6, Math.abs(length));
  g.strokeStyle = g.fillStyle = colour; g.lineWidth = 2;
  g.beginPath(); g.moveTo(x, y); g.lineTo(x + length, y); g.stroke();
  g.beginPath(); g.moveTo(x + length, y);
  g.lineTo(x + length - back, y - 4); g.lineTo(x + length - back, y + 4); g.fill();
}
function curve(values, colour) {
  g.strokeStyle = colour; g.lineWidth = 1.2; g.beginPath();
  values.forEach((value, i) => g.lineTo(640 * i / last, 185 - 40 * value / top_));
  g.stroke();
}
function draw() {
  g.setTransform(2, 0, 0, 2, 0, 0); g.clearRect(0, 0, 640, 240); g.font = "11px sans-serif";
  D.names.forEach((name, i) => {
    const a = D.boxes[k][2 * i], b = D.boxes[k][2 * i + 1], top = D.walls[i] ? 20 : 60;
    g.fillStyle = D.colours[i]; g.fillRect(a, top, b - a, 100 - top); g.fillText(name, a, 114);
  });
  g.fillStyle = "black"; g.fillRect(0, 100, 640, 1);
  const tip = D.boxes[k][2 * D.finger];
  arrow(tip, 50, 60 * D.force[k] / top_, "#888888"); arrow(tip, 40, 60 * D.sensor[k] / top_, "#b23a48");
  curve(D.force, "#888888"); curve(D.sensor, "#b23a48");
  g.fillStyle = "black"; g.fillRect(640 * k / last, 140, 1, 90);
  const past = D.events.filter(e => e[0] <= D.time[k]).pop();
  const [t, force, sensor] = [D.time[k], D.force[k], D.sensor[k]].map(value => value.toFixed(2));
  say.textContent = `t = ${t} s, applied ${force} N, sensor ${sensor} N` + (past ? `, ${past[1]} at ${past[0]} s` : "");
}
function frame(now) {
  if (playing) {
    if (begin === null) begin = now - 1000 * k / D.rate;
    k = Math.floor((now - begin) / 1000 * D.rate);
    if (k > last) { k = 0; begin = now; }
    at.value = k; draw();
  }
  requestAnimationFrame(frame);
}
button.onclick = () => { playing = !playing; begin = null; button.textContent = playing ? "pause" : "play"; };
at.oninput = () => { playing = false; button.textContent = "play"; k = +at.value; draw(); };
draw(); requestAnimationFrame(frame);
</script></html>
"""
