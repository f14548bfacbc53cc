import { scaleLinear, scaleUtc } from "d3-scale";
import { html, type Html } from "../markup";
import { across, chart, course, dot, namesBeside, scaleLines, spread, timeMarks, type Canvas } from "./frame";

type Value = { at: number; value: number };

/**
 * Values over time against a level, with the moments at which something began to hold.
 * @param isEvents Whether the values are separate events and not a course.
 * @param written A value with its unit.
 */
export function thresholdChart(
  { path, fired, level }: { path: readonly Value[]; fired: readonly Value[]; level: number },
  {
    id,
    title,
    isEvents,
    written,
  }: { id: string; title: string; isEvents: boolean; written: (value: number) => string },
  window: { from: number; to: number },
  canvas: Canvas,
): Html {
  const x = scaleUtc().domain([window.from, window.to]).range([canvas.begin, canvas.names]);
  const y = scaleLinear()
    .domain(spread([level, ...path.map(({ value }) => value)]))
    .range([canvas.bottom, canvas.top]);
  const placed = path.map(({ at, value }): [number, number] => [x(Math.max(at, window.from)), y(value)]);
  const last = path.at(-1);
  const named = [
    { kind: "target", at: y(level), words: written(level) },
    ...(last === undefined || isEvents ? [] : [{ kind: "", at: y(last.value), words: written(last.value) }]),
  ];
  return chart(
    { id, title, says: `The level is ${written(level)}; it would have fired ${fired.length} times.` },
    {
      plot: isEvents ? null : html`<path class="path" d="${course(placed, canvas)}" />`,
      marks: html`${scaleLines(y, written, canvas.values)}${across(y(level), "level target", [canvas.begin, canvas.names])}${
        isEvents ? placed.map(([left, top]) => dot(left, top, "", 4 * canvas.marks)) : null
      }${fired.map(({ at, value }) => dot(x(at), y(value), "up", 6 * canvas.marks))}${namesBeside(named, canvas)}${timeMarks(window.from, window.to, [canvas.begin, canvas.names])}`,
    },
    canvas,
  );
}
