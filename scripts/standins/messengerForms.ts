/** Part of the messenger's stand-in for local use: texts, keyboards and pictures, checked as the Bot API checks them. */

import * as z from "zod";
import { parseJson } from "../json";

/** A refusal of the Bot API: a status, and a description. */
export class Refusal extends Error {
  constructor(
    description: string,
    readonly status = 400,
  ) {
    super(description);
  }
}

/** @throws Refusal */
export function refuse(problem: string): never {
  throw new Refusal(`Bad Request: ${problem}`);
}

/** The longest text, and its name in a refusal. */
type Bounds = { limit: number; what: string };
export const MESSAGE: Bounds = { limit: 4_096, what: "message" };
export const CAPTION: Bounds = { limit: 1_024, what: "message caption" };

/** A text as it is shown. @throws Refusal */
export function readText(source: string, mode: string, { limit, what }: Bounds): string {
  if (mode !== "" && mode.toLowerCase() !== "html") return refuse("unsupported parse_mode");
  const text = (mode === "" ? source : renderHtml(source)).trim();
  return text.length > limit ? refuse(`${what} is too long`) : text;
}

const TAGS = new Set(
  "b strong i em u ins s strike del span tg-spoiler a code pre blockquote tg-emoji tg-time".split(" "),
);
const ENTITIES: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"' };
const ATTRIBUTES = /^(?:\s+[^\s=<>]+(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'>]+))?)*\s*$/;
const PIECES = /<(\/?)([^\s<>]*)([^<>]*)(>?)|&(?:#(\d{1,7})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot));?/g;

/** The text of HTML. An ampersand that begins no known entity is an ordinary character. @throws Refusal */
export function renderHtml(source: string): string {
  const open: string[] = [];
  const wrong = (problem: string) => refuse(`can't parse entities: ${problem}`);
  const text = source.replace(PIECES, (whole: string, ...found: (string | undefined)[]) => {
    const [slash, tag = "", attributes = "", end, decimal, hexadecimal, entity] = found;
    if (slash === undefined) {
      const point = decimal === undefined ? parseInt(hexadecimal ?? "0", 16) : Number(decimal);
      if (entity !== undefined) return ENTITIES[entity] ?? whole;
      return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole;
    }
    const name = tag.toLowerCase();
    if (slash === "/") {
      const expected = open.pop();
      if (expected === undefined) return wrong("Unexpected end tag");
      if (end === "" || attributes.trim() !== "") return wrong("Unclosed end tag");
      if (name !== "" && name !== expected)
        return wrong(`Unmatched end tag, expected "</${expected}>", found "</${name}>"`);
      return "";
    }
    if (!TAGS.has(name)) return wrong(`Unsupported start tag "${name}"`);
    if (end === "" || !ATTRIBUTES.test(attributes)) return wrong(`Unclosed start tag "${name}"`);
    if (name === "span" && !/class\s*=\s*["']?tg-spoiler/.test(attributes))
      return wrong('Tag "span" must have class "tg-spoiler"');
    open.push(name);
    return "";
  });
  const unclosed = open.at(-1);
  return unclosed === undefined ? text : wrong(`Can't find end tag corresponding to start tag "${unclosed}"`);
}

const button = z.looseObject({
  text: z.string(),
  url: z.string().optional(),
  callback_data: z.string().optional(),
});
const markupShape = z.looseObject({ inline_keyboard: z.array(z.array(button)) });

type Button = z.infer<typeof button>;
export type Keyboard = Button[][];

/** @param given `reply_markup` as sent: an object, or in a form its JSON. @throws Refusal */
export function readKeyboard(given: unknown): Keyboard {
  if (given === undefined || given === "") return [];
  const parsed = markupShape.safeParse(typeof given === "string" ? parseJson(given) : given);
  if (!parsed.success) return refuse("object expected as reply markup");
  const keyboard = parsed.data.inline_keyboard.filter((row) => row.length > 0);
  if (keyboard.flat().length > 100) return refuse("reply markup is too long");
  keyboard.flat().forEach(checkButton);
  return keyboard;
}

/** A button does exactly one thing. @throws Refusal */
function checkButton({ text, url, callback_data: data, ...others }: Button): void {
  if (text.trim() === "") return refuse("inline keyboard button text is empty");
  if (Object.keys(others).length > 0 || (url === undefined) === (data === undefined))
    return refuse("text buttons are unallowed in the inline keyboard");
  const bytes = new TextEncoder().encode(data ?? "x").length;
  if (bytes < 1 || bytes > 64) return refuse("BUTTON_DATA_INVALID");
  if (url !== undefined && !/^(?:https?|tg):\/\/[^/\s]+\.[^\s]+$/.test(url))
    return refuse(`inline keyboard button URL '${url}' is invalid: Wrong HTTP URL`);
}

/** Whether words name a button: its whole text, or the text behind its pictogram. */
export function isNamed(button: string, words: string): boolean {
  const typed = asTyped(words);
  return [button, button.replace(/^[\p{So}\uFE0F]+ /u, "")].some((label) => asTyped(label) === typed);
}

/** Words as typed on a keyboard: without thin spaces and true minus signs. */
function asTyped(words: string): string {
  return words.normalize("NFKC").replaceAll("−", "-").replace(/\s+/gu, " ").trim();
}

export type Photo = { width: number; height: number; bytes: number };

const SIGNATURE = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];

/** A picture that the messenger has stored; its id is of use to the bot that sent it, and to no other. */
export type StoredPhoto = { fileId: string; photo: Photo; file: Uint8Array<ArrayBuffer> };

/**
 * @param given The field `photo`: the file of a form, or the id of a stored one. Addresses of pictures are not fetched.
 * @param stored The bot's pictures by their ids.
 * @throws Refusal
 */
export async function readPhoto(
  given: unknown,
  stored: ReadonlyMap<string, StoredPhoto>,
): Promise<Omit<StoredPhoto, "fileId"> & { fileId?: string }> {
  const known = typeof given === "string" ? stored.get(given) : undefined;
  if (known !== undefined) return known;
  if (given === undefined) return refuse("there is no photo in the request");
  if (!(given instanceof File) || given.name === "") return refuse("wrong remote file identifier specified");
  if (given.size > 10 * 1024 * 1024) throw new Refusal("Request Entity Too Large", 413);
  if (given.size === 0) return refuse("file must be non-empty");
  const file = new Uint8Array(await given.arrayBuffer());
  if (file.length < 24 || SIGNATURE.some((byte, index) => file[index] !== byte))
    return refuse("IMAGE_PROCESS_FAILED");
  const view = new DataView(file.buffer);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const ratio = Math.max(width, height) / Math.max(1, Math.min(width, height));
  if (width + height > 10_000 || ratio > 20) return refuse("PHOTO_INVALID_DIMENSIONS");
  return { photo: { width, height, bytes: file.length }, file };
}

export type Document = { name: string; text: string };

/** @param given The field `document` of a form, a text file here. @throws Refusal */
export async function readDocument(given: unknown): Promise<Document> {
  if (given === undefined) return refuse("there is no document in the request");
  if (!(given instanceof File) || given.name === "") return refuse("wrong remote file identifier specified");
  if (given.size > 50 * 1024 * 1024) throw new Refusal("Request Entity Too Large", 413);
  if (given.size === 0) return refuse("file must be non-empty");
  return { name: given.name, text: await given.text() };
}
