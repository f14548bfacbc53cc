import type { JSX } from "hono/jsx/jsx-runtime";
import { encode } from "uqr";

/** What pages and pictures draw alike. */

/** The markup of a component. No component here is asynchronous. */
export function renderText(written: JSX.Element): string {
  if (written instanceof Promise) throw new Error("A component is asynchronous");
  return written.toString();
}

/** A QR code of a text, black on white with its quiet zone: a reader needs both. */
export function QrCode({ text, ...place }: { text: string } & JSX.IntrinsicElements["svg"]) {
  const { data, size } = encode(text, { ecc: "M", border: 4 });
  const rows = data.map((row, y) => {
    const line = row.map((isDark) => (isDark ? "1" : "0")).join("");
    return Array.from(
      line.matchAll(/1+/g),
      ({ 0: run, index }) => `M${index} ${y}h${run.length}v1h-${run.length}z`,
    ).join("");
  });
  return (
    <svg viewBox={`0 0 ${size} ${size}`} {...place}>
      <rect width={size} height={size} fill="#fff" />
      <path d={rows.join("")} fill="#000" shape-rendering="crispEdges" />
    </svg>
  );
}
