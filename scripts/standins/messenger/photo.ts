/** Part of the messenger's stand-in for local use: uploaded pictures, checked as the Bot API checks them. */

export type Photo = { width: number; height: number; bytes: number };
type Read =
  | { ok: true; photo: Photo; file: Uint8Array<ArrayBuffer> }
  | { ok: false; status: number; problem: string };

const MOST_BYTES = 10 * 1024 * 1024;
/** Of width and height together. */
const MOST_PIXELS = 10_000;
const MOST_RATIO = 20;
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** @param given The field `photo` of a form; names of stored files are unknown here. */
export async function readPhoto(given: unknown): Promise<Read> {
  if (!(given instanceof Blob)) {
    const problem =
      given === undefined ? "there is no photo in the request" : "wrong remote file identifier specified";
    return { ok: false, status: 400, problem: `Bad Request: ${problem}` };
  }
  if (given.size > MOST_BYTES) return { ok: false, status: 413, problem: "Request Entity Too Large" };
  if (given.size === 0) return { ok: false, status: 400, problem: "Bad Request: file must be non-empty" };
  const bytes = new Uint8Array(await given.arrayBuffer());
  if (bytes.length < 24 || SIGNATURE.some((byte, index) => bytes[index] !== byte)) {
    return { ok: false, status: 400, problem: "Bad Request: IMAGE_PROCESS_FAILED" };
  }
  const view = new DataView(bytes.buffer);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const ratio = Math.max(width, height) / Math.max(1, Math.min(width, height));
  if (width + height > MOST_PIXELS || ratio > MOST_RATIO) {
    return { ok: false, status: 400, problem: "Bad Request: PHOTO_INVALID_DIMENSIONS" };
  }
  return { ok: true, photo: { width, height, bytes: bytes.length }, file: bytes };
}
