import * as z from "zod";
import type { Doc } from "../../_generated/dataModel";
import { jsonSchemaOf } from "../../lib/http/jsonSchema";
import { cut } from "../../lib/text/strings";

/**
 * The social network's payloads in one form. There are three shapes (developer.x.com): account activity with
 * `tweet_create_events`, activity events with `data.payload`, and a filtered stream's `data` of one post. Pure.
 */

/** A post as it is stored. */
type Post = Pick<
  Doc<"mentions">,
  "tweetId" | "authorId" | "authorHandle" | "text" | "postedAt" | "objection"
>;

export type Delivery = {
  posts: Post[];
  /** How many events of the delivery are not mentions by others. */
  dropped: number;
};

/** The most posts one delivery may carry. */
const MAX_POSTS = 100;

/** Longer texts are not commands, and this much shows that they are too long. */
const MAX_TEXT = 4_000;

const digits = z.string().regex(/^\d{1,25}$/);
const handle = z
  .string()
  .regex(/^\w{1,30}$/)
  .optional()
  .catch(undefined);
const reference = z
  .array(z.object({ type: z.string() }))
  .nullish()
  .catch(null);

const tweetEntities = z
  .object({
    user_mentions: z.array(
      z.object({ id_str: digits, screen_name: handle, indices: z.array(z.number()).catch([]) }),
    ),
  })
  .transform(({ user_mentions }) =>
    user_mentions.map(({ id_str: id, screen_name, indices: [start] }) => ({
      id,
      handle: screen_name,
      start,
    })),
  )
  .catch([]);
const statementEntities = z
  .object({ mentions: z.array(z.object({ id: digits, username: handle })) })
  .transform(({ mentions }) => mentions.map(({ id, username }) => ({ id, handle: username })))
  .catch([]);

/** Where the text of a reply's author begins: before it are the accounts of the post replied to. */
const shownRange = z
  .array(z.number())
  .transform(([start]) => start ?? 0)
  .catch(0);

const tweet = z.object({
  id_str: digits,
  created_at: z.string().optional(),
  text: z.string().optional(),
  full_text: z.string().optional(),
  truncated: z.boolean().catch(false),
  display_text_range: shownRange,
  extended_tweet: z
    .object({ full_text: z.string(), display_text_range: shownRange, entities: tweetEntities })
    .nullish()
    .catch(null),
  in_reply_to_user_id_str: z.string().nullish().catch(null),
  retweeted_status: z.unknown().optional(),
  edit_history: z.unknown().optional(),
  edit_history_tweet_ids: z.unknown().optional(),
  user: z.object({ id_str: digits, screen_name: handle }),
  entities: tweetEntities,
});

/** Account activity; its other events (follows, messages) carry no posts. */
const activity = z
  .object({ for_user_id: digits, tweet_create_events: z.array(z.unknown()).max(MAX_POSTS).default([]) })
  .transform(({ for_user_id: own, tweet_create_events: events }) =>
    collect(events.map((event) => fromTweet(event, own))),
  );

function fromTweet(event: unknown, own: string): Post | null {
  const parsed = tweet.safeParse(event);
  if (!parsed.success) return null;
  const one = parsed.data;
  const { extended_tweet: extended, in_reply_to_user_id_str: repliedTo, user } = one;
  const isReply = repliedTo != null && repliedTo !== own;
  // A reply to somebody else contains the accounts of the post it answers, which its author has not written.
  const written = [one, ...(extended == null ? [] : [extended])].flatMap(({ entities, display_text_range }) =>
    entities.filter(({ id, start }) => id === own && !(isReply && (start ?? 0) < display_text_range)),
  );
  if (user.id_str === own || one.retweeted_status != null || written.length === 0) return null;
  return post({
    tweetId: one.id_str,
    authorId: user.id_str,
    authorHandle: user.screen_name,
    text: extended?.full_text ?? one.full_text ?? one.text,
    createdAt: one.created_at,
    own: written.find(({ handle }) => handle !== undefined)?.handle,
    history: [one.edit_history_tweet_ids, one.edit_history],
    isCut: one.truncated && extended == null && one.full_text === undefined,
  });
}

const user = z.object({ id: digits, username: handle });
const users = z.array(user).catch([]);
const statement = z.object({
  id: digits,
  text: z.string(),
  /** The full text of a long post. */
  note_tweet: z.object({ text: z.string() }).nullish().catch(null),
  author_id: digits,
  created_at: z.string().optional(),
  referenced_tweets: reference,
  edit_history_tweet_ids: z.unknown().optional(),
  entities: statementEntities,
});

/** An activity event. Only mentions matter. */
const event = z
  .object({
    data: z.object({
      event_type: z.string(),
      filter: z.object({ user_id: digits }),
      payload: z.unknown().optional(),
      includes: z.object({ users }).nullish().catch(null),
    }),
  })
  .transform(({ data: { event_type, filter, payload, includes } }) => {
    const parsed = statement.safeParse(payload);
    if (event_type !== "post.mention.create" || !parsed.success) return collect([null]);
    const { author_id, entities } = parsed.data;
    const own = entities.find(({ id }) => id === filter.user_id);
    if (author_id === filter.user_id || own === undefined) return collect([null]);
    return collect([fromStatement(parsed.data, includes?.users ?? [], own.handle)]);
  });

/** One post of a filtered stream; its rule, not the payload, guarantees that it mentions the account. */
const streamed = z
  .object({ data: statement, includes: z.object({ users }).nullish().catch(null) })
  .transform(({ data, includes }) => collect([fromStatement(data, includes?.users ?? [])]));

function fromStatement(
  one: z.output<typeof statement>,
  known: readonly z.output<typeof user>[],
  own?: string,
): Post | null {
  if (one.referenced_tweets?.some(({ type }) => type === "retweeted")) return null;
  return post({
    tweetId: one.id,
    authorId: one.author_id,
    authorHandle: known.find(({ id }) => id === one.author_id)?.username,
    text: one.note_tweet?.text ?? one.text,
    createdAt: one.created_at,
    own,
    history: [one.edit_history_tweet_ids],
    isCut: false,
  });
}

type Raw = {
  tweetId: string;
  authorId: string;
  authorHandle: string | undefined;
  text: string | undefined;
  createdAt: string | undefined;
  /** The service's own handle, if the payload contains it. */
  own: string | undefined;
  /** The payload's history of the post's versions. */
  history: unknown[];
  isCut: boolean;
};

function post({ tweetId, authorId, authorHandle, createdAt, ...raw }: Raw): Post | null {
  const text = cut(decoded(raw.text ?? ""), MAX_TEXT);
  // If the payload does not say so, the text does.
  if (text === "" || /^\s*RT @\w/.test(text)) return null;
  const postedAt = Date.parse(createdAt ?? "");
  const objection = objectionTo(tweetId, text, raw);
  return {
    tweetId,
    authorId,
    ...(authorHandle === undefined ? {} : { authorHandle }),
    text,
    ...(Number.isNaN(postedAt) ? {} : { postedAt }),
    ...(objection === null ? {} : { objection }),
  };
}

function objectionTo(
  tweetId: string,
  text: string,
  { own, history, isCut }: Pick<Raw, "own" | "history" | "isCut">,
) {
  if (isCut) return "The network sent only a part of the post";
  // Each version has its own id, and the first may have been executed.
  if (history.some((version) => namesAnother(version, tweetId)))
    return "The post was edited: write a new one";
  const named = new Set(
    Array.from(text.normalize("NFKC").matchAll(/@(\w+)/g), ([, one = ""]) => one.toLowerCase()),
  );
  if (named.size === 0) return "The post does not name the service's account";
  // Without its own handle the service can only see that a single account is named: the stream's rule says which.
  const isOthers = own === undefined ? named.size > 1 : named.size > 1 || !named.has(own.toLowerCase());
  return isOthers ? "The post names another account besides the service's" : null;
}

/** Whether a history of versions, in any form, names another id than the post's own. Unreadable entries count as such. */
function namesAnother(version: unknown, tweetId: string): boolean {
  if (version === undefined || version === null) return false;
  if (Array.isArray(version)) return version.some((one) => namesAnother(one, tweetId));
  if (typeof version === "object") {
    const { initial_tweet_id: first, edit_tweet_ids: ids }: Record<string, unknown> = { ...version };
    return namesAnother(first, tweetId) || namesAnother(ids, tweetId);
  }
  // A number has lost its last digits.
  return typeof version === "number" ? version !== Number(tweetId) : version !== tweetId;
}

function collect(found: readonly (Post | null)[]): Delivery {
  const posts = found.filter((one) => one !== null);
  return { posts, dropped: found.length - posts.length };
}

/** Decoded once, with the ampersand last: an author's `&amp;gt;` becomes `&gt;`. */
function decoded(text: string): string {
  return text
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

/** A signed delivery of any of the three shapes. */
export const deliveryShape = z
  .looseObject({})
  .transform((body, context): Delivery => {
    for (const shape of [activity, event, streamed]) {
      const parsed = shape.safeParse(body);
      if (parsed.success) return parsed.data;
    }
    context.addIssue({ code: "custom", path: ["data"], message: "is not one of the known payloads" });
    return z.NEVER;
  })
  .meta({ accepts: () => jsonSchemaOf(z.union([activity, event, streamed]), "input") });

/** Account activity with one mention. */
export const deliveryExample = {
  for_user_id: "2244994945",
  tweet_create_events: [
    {
      id_str: "1876543210987654321",
      created_at: "Mon Jan 05 09:30:00 +0000 2026",
      text: "@service buy 25 USD of ETH",
      user: { id_str: "6253282", screen_name: "alice" },
      entities: { user_mentions: [{ id_str: "2244994945" }] },
    },
  ],
};
