/**
 * Part of the messenger's stand-in for local use: what the Bot API takes, checked as it checks it, and how it shows a bot, a
 * person and a chat.
 */

import * as z from "zod";
import { parseJson } from "../json";
import type { Call } from "./http";
import { hash } from "./random";

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

/** The Bot API's own error body; the HTTP status repeats its code. */
export function messengerError(status: number, reason: string, retryAfter?: number): unknown {
  const body = { ok: false, error_code: status, description: reason };
  if (retryAfter === undefined) return body;
  const description = `${reason}: retry after ${retryAfter}`;
  return { ...body, description, parameters: { retry_after: retryAfter } };
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

const asText = z.union([z.string(), z.number().transform(String)]).default("");
/** In a form lines end with CRLF (fetch.spec.whatwg.org, multipart/form-data); the messenger drops carriage returns. */
const caption = asText.transform((text) => text.replaceAll("\r", ""));
export const parametersShape = z.looseObject({
  chat_id: asText,
  message_id: z.coerce.number().int().default(0),
  parse_mode: z.string().default(""),
  text: asText,
  caption,
  reply_markup: z.unknown().optional(),
  photo: z.unknown().optional(),
  document: z.unknown().optional(),
  /** JSON: in a form together with the picture that it names. */
  media: z.union([z.string(), z.looseObject({}).transform((media) => JSON.stringify(media))]).default(""),
  action: z.string().default(""),
  callback_query_id: asText,
  user_id: asText,
});
export type Parameters = z.infer<typeof parametersShape>;

export const mediaShape = z.looseObject({
  type: z.literal("photo"),
  /** The form's file, or the id of one that the bot has sent. */
  media: z.string(),
  caption,
  parse_mode: z.string().default(""),
});

export const webhookShape = z.looseObject({
  url: z.string().default(""),
  secret_token: z.string().optional(),
  allowed_updates: z.array(z.string()).optional(),
});

const commandShape = z.object({
  command: z.string().regex(/^[a-z0-9_]{1,32}$/),
  description: z.string().min(1).max(256),
});
export const commandsShape = z.looseObject({ commands: z.array(commandShape).max(100) });

const personShape = {
  /** Negative for a group. */
  chatId: z.coerce.number().int(),
  /** The sender; in a private chat it is the chat's own person. */
  from: z
    .strictObject({ id: z.int().positive(), username: z.string().min(1).optional() })
    .partial()
    .optional(),
};
export const sayShape = z.strictObject({ ...personShape, text: z.string().min(1).max(MESSAGE.limit) });
export const tapShape = z.strictObject({ ...personShape, button: z.string().min(1) });

/** In a private chat `kicked` means that the person has blocked the bot; in others its bot's own id can be a member. */
export const memberShape = z.strictObject({
  chatId: z.coerce.number().int(),
  userId: z.int().positive(),
  status: z.enum(["creator", "administrator", "member", "restricted", "left", "kicked"]),
});

/** Of the query and the body, which is a form or JSON; `null` for another body. */
export async function readParameters({
  query,
  headers,
  body,
  bytes,
}: Call): Promise<Record<string, unknown> | null> {
  const inQuery = Object.fromEntries(query);
  const type = headers.get("Content-Type") ?? "";
  if (type.startsWith("multipart/form-data") && bytes !== undefined) {
    const form = await new Response(bytes, { headers: { "Content-Type": type } }).formData();
    return { ...inQuery, ...Object.fromEntries(form.entries()) };
  }
  if (body.trim() === "") return inQuery;
  const parsed = z.record(z.string(), z.unknown()).safeParse(parseJson(body));
  return parsed.success ? { ...inQuery, ...parsed.data } : null;
}

/** @throws Refusal */
export function requireChat({ chat_id: chatId }: Parameters): string {
  if (chatId === "") return refuse("chat_id is empty");
  return /^(?:-?\d{1,16}|@[A-Za-z0-9_]+)$/.test(chatId) ? chatId : refuse("chat not found");
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
 * @param find The bot's picture of an id.
 * @throws Refusal
 */
export async function readPhoto(
  given: unknown,
  find: (fileId: string) => StoredPhoto | undefined,
): Promise<Omit<StoredPhoto, "fileId"> & { fileId?: string }> {
  const known = typeof given === "string" ? find(given) : undefined;
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

/** The sender and the chat. */
export function readPlace(
  chatId: number,
  from: { id?: number | undefined; username?: string | undefined } | undefined,
) {
  const id = from?.id ?? (chatId > 0 ? chatId : 1);
  const person = { first_name: "Local", username: from?.username ?? `local_${id}` };
  const chat = chatId > 0 ? { id: chatId, type: "private", ...person } : readChat(String(chatId));
  return { from: { id, is_bot: false, ...person }, chat };
}

export function describeBot(botToken: string): unknown {
  const id = Number(botToken.split(":")[0]);
  return { id, is_bot: true, first_name: "Simulated bot", username: `simulated_${id}_bot` };
}

export function readChat(chatId: string): unknown {
  if (chatId.startsWith("@"))
    return { id: -1_000_000_000_000 - hash(chatId), type: "channel", username: chatId.slice(1) };
  const id = Number(chatId);
  return { id, type: id < 0 ? "supergroup" : "private" };
}
