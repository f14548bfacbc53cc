import * as z from "zod";
import { jsonSchemaOf } from "../lib/jsonSchema";

/**
 * What the social network says about posts, brought to one form. Three shapes come (developer.x.com): account activity
 * with `tweet_create_events`, activity events with `data.payload`, and a filtered stream's `data` of one post. Pure.
 */

export type Post = {
  tweetId: string;
  authorId: string;
  authorHandle?: string;
  /** The author's own text, HTML entities decoded; quoted and retweeted posts are no part of it. */
  text: string;
  /** Epoch ms. */
  postedAt?: number;
};

export type Delivery = {
  posts: Post[];
  /** How many events of the delivery are no mention by somebody else. */
  dropped: number;
};

/** The most posts one delivery may carry. */
const MAX_POSTS = 100;

/** Longer texts are no command, and this much shows that they are too long. */
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
  .object({ user_mentions: z.array(z.object({ id_str: digits })) })
  .transform(({ user_mentions }) => user_mentions.map(({ id_str }) => id_str))
  .catch([]);
const statementEntities = z
  .object({ mentions: z.array(z.object({ id: digits })) })
  .transform(({ mentions }) => mentions.map(({ id }) => id))
  .catch([]);

const tweet = z.object({
  id_str: digits,
  created_at: z.string().optional(),
  text: z.string().optional(),
  full_text: z.string().optional(),
  extended_tweet: z.object({ full_text: z.string(), entities: tweetEntities }).nullish().catch(null),
  retweeted_status: z.unknown().optional(),
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
  const { id_str, created_at, text, full_text, extended_tweet, retweeted_status, user, entities } =
    parsed.data;
  const mentioned = [...entities, ...(extended_tweet?.entities ?? [])];
  if (user.id_str === own || retweeted_status != null || !mentioned.includes(own)) return null;
  return post(
    id_str,
    user.id_str,
    user.screen_name,
    extended_tweet?.full_text ?? full_text ?? text,
    created_at,
  );
}

const user = z.object({ id: digits, username: handle });
const users = z.array(user).catch([]);
const statement = z.object({
  id: digits,
  text: z.string(),
  /** The whole of a long post. */
  note_tweet: z.object({ text: z.string() }).nullish().catch(null),
  author_id: digits,
  created_at: z.string().optional(),
  referenced_tweets: reference,
  entities: statementEntities,
});

/** An activity event. Those about anything but a mention are none of ours. */
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
    if (author_id === filter.user_id || !entities.includes(filter.user_id)) return collect([null]);
    return collect([fromStatement(parsed.data, includes?.users ?? [])]);
  });

/** One post of a filtered stream; its rule, not the payload, says that it mentions the account. */
const streamed = z
  .object({ data: statement, includes: z.object({ users }).nullish().catch(null) })
  .transform(({ data, includes }) => collect([fromStatement(data, includes?.users ?? [])]));

function fromStatement(
  one: z.output<typeof statement>,
  known: readonly z.output<typeof user>[],
): Post | null {
  if (one.referenced_tweets?.some(({ type }) => type === "retweeted")) return null;
  const author = known.find(({ id }) => id === one.author_id);
  return post(one.id, one.author_id, author?.username, one.note_tweet?.text ?? one.text, one.created_at);
}

function post(
  tweetId: string,
  authorId: string,
  authorHandle: string | undefined,
  raw: string | undefined,
  createdAt: string | undefined,
): Post | null {
  const text = decoded(raw ?? "").slice(0, MAX_TEXT);
  // Where the payload does not say it, the text does.
  if (text === "" || /^\s*RT @\w/.test(text)) return null;
  const postedAt = Date.parse(createdAt ?? "");
  return {
    tweetId,
    authorId,
    ...(authorHandle === undefined ? {} : { authorHandle }),
    text,
    ...(Number.isNaN(postedAt) ? {} : { postedAt }),
  };
}

function collect(found: readonly (Post | null)[]): Delivery {
  const posts = found.filter((one) => one !== null);
  return { posts, dropped: found.length - posts.length };
}

/** Once, and the ampersand last: what an author wrote as `&amp;gt;` stays `&gt;`. */
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
    context.addIssue({ code: "custom", path: ["data"], message: "is none of the known payloads" });
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
