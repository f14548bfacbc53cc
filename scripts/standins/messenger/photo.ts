import { Refusal, refuse } from "./refusal";

/** Part of the messenger's stand-in for local use: uploaded pictures, checked as the Bot API checks them. */

export type Photo = { width: number; height: number; bytes: number };

const MOST_BYTES = 10 * 1024 * 1024;
/** Of width and height together. */
const MOST_PIXELS = 10_000;
const MOST_RATIO = 20;
const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** @param given The field `photo` of a form; names of stored files are unknown here. @throws Refusal */
export async function readPhoto(given: unknown): Promise<{ photo: Photo; file: Uint8Array<ArrayBuffer> }> {
  if (given === undefined) return refuse("there is no photo in the request");
  if (!(given instanceof Blob)) return refuse("wrong remote file identifier specified");
  if (given.size > MOST_BYTES) throw new Refusal("Request Entity Too Large", 413);
  if (given.size === 0) return refuse("file must be non-empty");
  const bytes = new Uint8Array(await given.arrayBuffer());
  if (bytes.length < 24 || SIGNATURE.some((byte, index) => bytes[index] !== byte))
    return refuse("IMAGE_PROCESS_FAILED");
  const view = new DataView(bytes.buffer);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const ratio = Math.max(width, height) / Math.max(1, Math.min(width, height));
  if (width + height > MOST_PIXELS || ratio > MOST_RATIO) return refuse("PHOTO_INVALID_DIMENSIONS");
  return { photo: { width, height, bytes: bytes.length }, file: bytes };
}
