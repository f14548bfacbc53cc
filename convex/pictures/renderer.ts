import { inflateSync } from "fflate";
import { once } from "../lib/lazy";

/**
 * The renderer with its fonts, created once a module state: on a local stack once, on the platform once an action. Its 1.4 MB
 * are loaded only for a drawing, since no other request should evaluate them. A cold start takes about a second of a
 * processor, most of it for the first drawing.
 */
const renderer = once(async () => {
  const [{ initWasm, Resvg }, { RENDERER }, { REGULAR, SEMIBOLD }] = await Promise.all([
    import("@resvg/resvg-wasm"),
    import("./rendererBytes"),
    import("./fontBytes"),
  ]);
  await initWasm(inflateSync(decodeBase64(RENDERER)));
  const fontBuffers = [decodeBase64(REGULAR), decodeBase64(SEMIBOLD)];
  return (svg: string) => {
    const drawing = new Resvg(svg, { font: { fontBuffers, defaultFontFamily: "Inter" } });
    const image = drawing.render();
    try {
      return new Uint8Array(image.asPng());
    } finally {
      image.free();
      drawing.free();
    }
  };
});

/** Renders an SVG as PNG, in the SVG's own size. @throws Error for an unreadable SVG. */
export async function renderPng(svg: string): Promise<Uint8Array<ArrayBuffer>> {
  return (await renderer())(svg);
}

/** A loop, because an iterator over a million characters takes a third of a second. */
function decodeBase64(base64: string): Uint8Array<ArrayBuffer> {
  const letters = atob(base64);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}
