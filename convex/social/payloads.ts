import { utf8ToBytes } from "@noble/hashes/utils.js";
import * as z from "zod";
import type { Doc } from "../_generated/dataModel";
import { isEqualBytes, hmacSha256 } from "../lib/crypto";
import { cut } from "../lib/text/strings";

/** The social network's deliveries (developer.x.com, activity events): their signatures, and their posts. Pure. */

/** The signature of a text under the webhook's secret, also the answer to a challenge (CRC): `sha256=` and base64. */
export function signText(secret: string, text: string): string {
  const mac = hmacSha256(utf8ToBytes(secret), utf8ToBytes(text));
  return `sha256=${btoa(String.fromCharCode(...mac))}`;
}

/** Whether the header of a webhook's call is the signature of its raw body. */
export function isSigned(header: string | null, body: string, secret: string): boolean {
  return isEqualBytes(utf8ToBytes(header?.trim() ?? ""), utf8ToBytes(signText(secret, body)));
}

/** A post as it is stored. */
type Post = Pick<
  Doc<"mentions">,
  "tweetId" | "authorId" | "authorHandle" | "text" | "postedAt" | "objection"
>;

/** `post`: `null` for an event other than a mention by another account. */
export type Delivery = { post: Post | null };

/** Longer texts are no commands; this much is stored to show that they are too long. */
const MAX_TEXT = 4_000;

const digits = z.string().regex(/^\d{1,25}$/);
const handle = z
  .string()
  .regex(/^\w{1,30}$/)
  .optional()
  .catch(undefined);
const user = z.object({ id: digits, username: handle });

const statement = z.object({
  id: digits,
  text: z.string(),
  /** The full text of a long post. */
  note_tweet: z.object({ text: z.string() }).nullish().catch(null),
  author_id: digits,
  created_at: z.string().optional(),
  referenced_tweets: z
    .array(z.object({ type: z.string() }))
    .nullish()
    .catch(null),
  edit_history_tweet_ids: z.unknown().optional(),
  entities: z.object({ mentions: z.array(user) }).catch({ mentions: [] }),
});

const event = z.object({
  data: z.object({
    event_type: z.string(),
    filter: z.object({ user_id: digits }),
    payload: z.unknown().optional(),
    includes: z
      .object({ users: z.array(user).catch([]) })
      .nullish()
      .catch(null),
  }),
});

/** A signed delivery: one event. */
export const deliveryShape = z.looseObject({}).transform((body, context): Delivery => {
  const parsed = event.safeParse(body);
  if (parsed.success) return { post: parsePost(parsed.data.data) };
  context.addIssue({ code: "custom", path: ["data"], message: "is not an activity event" });
  return z.NEVER;
});

function parsePost({ event_type, filter, payload, includes }: z.output<typeof event>["data"]): Post | null {
  const parsed = statement.safeParse(payload);
  if (event_type !== "post.mention.create" || !parsed.success) return null;
  const { id: tweetId, author_id: authorId, entities, created_at, ...one } = parsed.data;
  const author = entities.mentions.find(({ id }) => id === filter.user_id);
  if (authorId === filter.user_id || author === undefined) return null;
  const text = cut(decodeEntities(one.note_tweet?.text ?? one.text), MAX_TEXT);
  const isRetweet = one.referenced_tweets?.some(({ type }) => type === "retweeted") === true;
  if (isRetweet || text === "" || /^\s*RT @\w/.test(text)) return null;
  const authorHandle = includes?.users.find(({ id }) => id === authorId)?.username;
  const postedAt = Date.parse(created_at ?? "");
  // Each version of a post has its own id, and an earlier one may have been executed.
  const isEdited = hasAnotherId(one.edit_history_tweet_ids, tweetId);
  const objection = isEdited ? "The post was edited: write a new one" : findObjection(text, author.username);
  return {
    tweetId,
    authorId,
    ...(authorHandle === undefined ? {} : { authorHandle }),
    text,
    ...(Number.isNaN(postedAt) ? {} : { postedAt }),
    ...(objection === null ? {} : { objection }),
  };
}

/** The objection to a post that addresses another account than the service's; `null` without one. */
function findObjection(text: string, serviceName: string | undefined): string | null {
  const mentioned = new Set(
    Array.from(text.normalize("NFKC").matchAll(/@(\w+)/g), ([, one = ""]) => one.toLowerCase()),
  );
  if (mentioned.size === 0) return "The post does not name the service's account: mention it";
  const isOthers =
    mentioned.size > 1 || (serviceName !== undefined && !mentioned.has(serviceName.toLowerCase()));
  return isOthers ? "The post names another account besides the service's: name only the service's" : null;
}

/** Whether a post's history of versions has another id than its own. An unreadable entry counts as one. */
function hasAnotherId(history: unknown, tweetId: string): boolean {
  if (history === undefined || history === null) return false;
  return Array.isArray(history) ? history.some((one) => one !== tweetId) : history !== tweetId;
}

/** Decoded once, with the ampersand last: an author's `&amp;gt;` becomes `&gt;`. */
function decodeEntities(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

export const deliveryExample = {
  data: {
    event_type: "post.mention.create",
    filter: { user_id: "2244994945" },
    payload: {
      id: "1876543210987654321",
      text: "@service buy 25 USD of ETH",
      author_id: "6253282",
      created_at: "2026-01-05T09:30:00.000Z",
      entities: { mentions: [{ id: "2244994945", username: "service" }] },
    },
    includes: { users: [{ id: "6253282", username: "alice" }] },
  },
};
