import { inflateSync } from "fflate";
import { once } from "../lib/once";

/** Makes PNG pictures of SVG with resvg. For actions. */

/**
 * The renderer with its fonts. It is made once where a module's state lasts, as on a local stack; on the platform every
 * action makes it anew. It has 1.4 MB that no request should evaluate, so it is loaded only when something is drawn.
 */
const renderer = once(loadRenderer);

/** An SVG as PNG, in the size that it states. @throws Error for an SVG that cannot be read. */
export async function pngOf(svg: string): Promise<Uint8Array<ArrayBuffer>> {
  return (await renderer()).draw(svg);
}

async function loadRenderer() {
  const [{ initWasm, Resvg }, { RENDERER }, { REGULAR, SEMIBOLD }] = await Promise.all([
    import("@resvg/resvg-wasm"),
    import("./rendererBytes"),
    import("./fontBytes"),
  ]);
  await initWasm(new Uint8Array(inflateSync(bytesOf(RENDERER))));
  const fontBuffers = [bytesOf(REGULAR), bytesOf(SEMIBOLD)];
  return {
    draw: (svg: string) => {
      const drawing = new Resvg(svg, { font: { fontBuffers, defaultFontFamily: "Inter" } });
      const image = drawing.render();
      try {
        return new Uint8Array(image.asPng());
      } finally {
        image.free();
        drawing.free();
      }
    },
  };
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
}
