import fc from "fast-check";
import { expect, test } from "vitest";
import type * as z from "zod";
import { focusIn, hoursIn, tokenIn } from "../../convex/bot/grammar";
import { userIdFrom } from "../../convex/lib/records/ids";
import { optionalToken, userId } from "../../convex/lib/http/input";
import { TOKENS } from "../../convex/signals/rules";
import { signalToken } from "../../convex/signals/shapes";
import { hours } from "../../convex/whales/shapes";

/** What transactions read without shapes is read as the endpoints read it. */

const written = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 140 }),
  fc.stringMatching(/^[ $]{0,2}[A-Za-z0-9./$ -]{0,70}$/),
  fc
    .tuple(
      fc.constantFrom("", " ", "\n", "\u00a0", "$"),
      fc.constantFrom(
        "btc",
        "BTC",
        "Bitcoin",
        "eth",
        "ether",
        "BTC/USDT",
        "0.1",
        "168",
        "168.1",
        "6,5",
        "1e1",
      ),
      fc.constantFrom("", " ", "\t", "x", "\uFFFD", "\u200b"),
    )
    .map((parts) => parts.join("")),
);

const taken = (shape: z.ZodType, text: string) => {
  const result = shape.safeParse(text);
  return result.success ? result.data : null;
};

const idTaken = (text: string) => {
  try {
    return userIdFrom(text);
  } catch {
    return null;
  }
};

test.each<[string, z.ZodType, (text: string) => unknown]>([
  ["a userId", userId, idTaken],
  ["hours", hours, (text) => hoursIn(text, 6)],
  ["one of the signals' tokens", signalToken, (text) => tokenIn(TOKENS, text)],
  ["a token to focus on", optionalToken, (text) => (text === "" ? undefined : focusIn(text))],
])("%s means the same to a command and to an endpoint", (_, shape, read) => {
  fc.assert(
    fc.property(written, (text) => {
      expect(read(text)).toEqual(taken(shape, text));
    }),
    { numRuns: 2_000 },
  );
});
