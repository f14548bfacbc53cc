import { describe, expect, test } from "vitest";
import * as z from "zod";
import { parseAlertLine } from "../../convex/alerts/words";
import { parseCommand } from "../../convex/bot/commands";
import { parseAnswer } from "../../convex/figures/answers";
import { numberSources, buildCitationIndex, toSource } from "../../convex/figures/citations";
import { resolveFigures } from "../../convex/figures/placeholders";
import { hasFigures } from "../../convex/figures/writtenNumbers";
import { parseInput, parseBodyInput } from "../../convex/platform/http/request";
import { chatId, optionalToken, publicAddress, requiredText, userId } from "../../convex/platform/http/input";
import { resolveSymbol } from "../../convex/lib/money/coins";
import { findMentions, indexNames } from "../../convex/figures/mentions";
import { isKeyRequest } from "../../convex/lib/keyRequests";
import { extractJson, parseTolerantly } from "../../convex/lib/text/json";
import { asMeant } from "../../convex/lib/text/markup";
import { typeset } from "../../convex/lib/text/numbers";
import { splitLines, normalizeText } from "../../convex/lib/text/sentences";
import { removeForeignLinks } from "../../convex/lib/text/markup";
import { toPlainText, renderCard, toParagraphs } from "../../convex/messenger/format";
import { parseProof } from "../../convex/payments/proofs";
import { findBlamedField, isPage, parsePause, parseRefusal } from "../../convex/providers/rejections";
import { parseArticles } from "../../convex/providers/data/headlines";
import { cleanText } from "../../convex/providers/models/cleaning";
import { extractRejectedAnswer } from "../../convex/providers/models/client";
import { parseResponseBody } from "../../convex/providers/models/wire";
import { readCommand } from "../../convex/social/commands";
import { deliveryShape } from "../../convex/social/payloads";
import { parseWhaleAnswer as readAlerts } from "../../convex/whales/prompts";

/**
 * Whatever a model, a feed, a user or a header sends is read in time that grows with its length alone: one text must not
 * make everybody wait. A find of another such text belongs into the list.
 */

const LENGTH = 65_536;
/** Processor time for one text; a slower one has to grow no faster than its length. */
const MOST_MS = 50;
/** What reads in a time that grows with the length alone may take longer. */
const MOST_LINEAR_MS = 4 * MOST_MS;
/** Twice the length in at most so many times the time: with a share of the square, it is more. */
const GROWTH = 2.2;

const split = (line: string) => line.split("¦");

/** Repeated until they are long enough; before and behind them stands what leads into a reader. */
const REPEATED: readonly (string | readonly [before: string, repeated: string, behind: string])[] = [
  // In words.
  ...split(
    "twenty-one hundred ¦twenty-¦one ¦half a hundred and ¦ten percent ¦fifty-fifty ¦one-thirds¦a ¦word¦x.y ",
  ),
  ...split("vs. a ¦U.S. ¦e.g. ¦Inc. x¦BTC ¦$A¦Bitcoin¦ab-¦a\u0301"),
  // In blanks and marks.
  ...split(
    " ¦\t¦\n¦\u00a0¦\r\n¦\u200b¦\u2060¦-¦--¦.¦...¦,¦;¦!¦?!¦…¦。¦`¦```\n¦*¦**¦**a¦__a**b¦_¦~~a¦#¦# ¦|¦| a ¦|-",
  ),
  ...split(
    "[¦]¦[[¦(¦)¦[a](¦[a]((¦![¦[1]¦[f1¦[f1, ¦[f1] ¦{¦}¦{f1¦{f1}¦{f1-f2} ¦<¦>¦</¦&¦&a¦&amp;¦&#¦\\¦\\n¦\\u0041",
  ),
  ...split('\\"¦\'¦"¦“¦„¦「¦【¦【1†¦@a¦/a '),
  ["# a", " ", "b"],
  ["", " ", "--"],
  ["--", " ", "--"],
  ["a", " ", "."],
  // In figures.
  ...split("1¦1,¦1.¦1,234¦1 234 ¦-1¦$1¦1%¦%¦0x¦0x1¦1e1¦1/¦24 h ¦\u0663¦1-2 to "),
  ["$", "1,234.", "x"],
  ["BTC above ", "1,234", " usd"],
  // In JSON.
  ...split('{"¦{"a":¦{"a":[¦"x ¦"a":"b" c" ¦{\'a\':\'it\'s \',¦“a”¦"a":"x\n¦{\\"a\\":\\"¦[1,¦[a(¦/*'),
  ...split('[//¦["#'),
  ['{"a":', '"', ""],
  ['{"a": "', 'b": "', "}"],
  ['{"a":"', '" , ', "}"],
  ["[", '"a" + ', "]"],
  ["[", "1,234.5 ", "]"],
  ["{", '"k":1,', "}"],
  ['{"choices":[{"message":{"content":"', "<think>", '"}}]}'],
  // In marks of models.
  ...split(
    "<think>¦</think>¦<think a¦[THINK]¦◁think▷¦<|channel|>final¦<|channel|>analysis ¦analysis¦<tool_call>",
  ),
  ...split("</tool_call>¦[TOOL_CALLS]¦<function=a>¦<|python_tag|>¦```tool_code\n¦<｜tool▁calls▁begin｜>¦<s>"),
  ...split("<|im_start|>¦<answer>¦</answer> ¦<details type=reasoning>¦<grok:render>¦<cite>¦citeturn1search1"),
  ...split('data: {"a":1}\n¦event: a\n¦{"a":1}\n'),
  ['data: {"choices":[{"delta":{"content":"', "a", '"}}]}'],
  ["data: ", "\n: ", ""],
  // In refusals.
  ...split(
    "max_tokens ¦maximum at most ¦stream only ¦maximum context length is 1 tokens ¦retry after ¦exceeds ",
  ),
  ...split("violates "),
  // In feeds.
  ...split("<item>¦<title>¦<![CDATA[¦<item><title>¦]]>¦<description><![CDATA[¦<!--¦<a b=¦&x;"),
  [
    "<rss><channel>",
    "<item><title><![CDATA[a]]></title><description><![CDATA[b]]></description><content:encoded><![CDATA[<p>c]]></content:encoded></item>",
    "</channel></rss>",
  ],
  ["<rss><channel>", "<item><title>a<title></item>", ""],
  // In links, addresses and secrets.
  ...split(
    "http://¦http://a,¦www.¦a://¦bc1¦1A¦x@y¦a.b¦private key ¦приватн¦privat¦мнемонич¦geheim¦seed phrase? ",
  ),
  ...split("_ -¦aA¦sell 1 usdc ¦/freeze¦@bot, ¦Retry-After"),
];

const NASTY = REPEATED.map((one) => {
  const [before, repeated, behind] = typeof one === "string" ? ["", one, ""] : one;
  return (length: number) =>
    before + repeated.repeat(Math.ceil(length / repeated.length)).slice(0, length) + behind;
});

const shape = z.object({ a: z.string(), b: z.array(z.number()), c: z.number().nullable() });
const input = z.object({
  userId,
  question: requiredText(5_000),
  token: optionalToken,
  chatId,
  url: publicAddress,
});
const fact = {
  subject: "BTC",
  kind: "price",
  value: 97_250.5,
  observedAt: 0,
  source: "Coinbase",
  url: "",
} as const;
const names = indexNames([fact, { ...fact, kind: "name", value: "Bitcoin" }]);
const ledgerFor = (question: string) =>
  buildCitationIndex(numberSources([toSource(fact)]), 0, { names, focus: "BTC", question });

/** What throws has read, too. */
const READERS: Readonly<Record<string, (given: string) => unknown>> = {
  "format: cards": (given) => renderCard(toParagraphs(given, [])),
  "format: bold, and back": (given) => toPlainText(renderCard([[{ bold: given }]]).join("")),
  "figures: in a text": hasFigures,
  "figures: settled": (given) => resolveFigures(given, ledgerFor("")),
  "figures: of one sentence": (given) => resolveFigures(given.slice(0, 1_500), ledgerFor("")),
  "figures: marked": (given) => resolveFigures(given, ledgerFor(given.slice(0, 100)), { left: "mark" }),
  "figures: asked": (given) => ledgerFor(given),
  sentences: (given) => splitLines(normalizeText(given)),
  names: (given) => [
    findMentions(given, names),
    resolveSymbol(given),
    indexNames([{ ...fact, kind: "name", value: given }]),
  ],
  answers: (given) => parseAnswer(shape, given, ""),
  "answers of the agent": readAlerts,
  json: extractJson,
  "json of a body": parseTolerantly,
  "words of a model": (given) => [asMeant(given), removeForeignLinks(given, ""), typeset(given)],
  cleaned: cleanText,
  "a gateway's body": (given) => parseResponseBody(given, true),
  "a gateway's answer": (given) =>
    parseResponseBody(JSON.stringify({ choices: [{ message: { content: given } }] }), true),
  "a gateway's refusal": (given) => [
    findBlamedField(given),
    extractRejectedAnswer(given),
    parseRefusal(400, given),
    isPage(given),
  ],
  "a pause": (given) => [parsePause(new Headers(), given), parsePause(new Headers({ "Retry-After": given }))],
  headlines: parseArticles,
  grammar: parseAlertLine,
  keyRequests: isKeyRequest,
  payloads: (given) =>
    deliveryShape.safeParse({
      data: {
        event_type: "post.mention.create",
        filter: { user_id: "1" },
        payload: {
          id: "2",
          text: given,
          author_id: "3",
          entities: { mentions: [{ id: "1", username: "bot" }] },
        },
      },
    }),
  "posts' commands": readCommand,
  "the bot's commands": (given) => [parseCommand(given), parseCommand(`/${given}`)],
  "input: a body": parseBodyInput,
  "input: fields": (given) =>
    parseInput(input, { userId: given, question: given, token: given, chatId: given, url: given }),
  "X-Payment": parseProof,
};

function spent(read: (given: string) => unknown, given: string): number {
  const from = process.cpuUsage();
  try {
    read(given);
  } catch {
    // A refusal has read the text as well.
  }
  const { user, system } = process.cpuUsage(from);
  return (user + system) / 1_000;
}

/** Others use the machine, and a function's first runs are its slowest: the best of some counts. */
const best = (read: (given: string) => unknown, given: string, runs: number): number =>
  Math.min(...Array.from({ length: runs }, () => spent(read, given)));

/** Whether the whole is read in time, by the time that an eighth of it takes. */
const isInTime = (whole: number, eighth: number): boolean =>
  whole <= MOST_MS || whole <= Math.min(MOST_LINEAR_MS, 16 * Math.max(eighth, 1));

describe("64 kB of anything are read at once by", () => {
  expect(NASTY.length).toBeGreaterThan(60);
  test.each(Object.entries(READERS))("%s", (_name, read) => {
    const slow: string[] = [];
    for (const [at, make] of NASTY.entries()) {
      const part = make(LENGTH / 8);
      let eighth = spent(read, part);
      // The whole is in time even if its time grows with the square of its length.
      if (eighth <= MOST_MS / 64) continue;
      // Nor is it read where its parts show that its time grows with its length alone, and ends well in time.
      const sixteenth = best(read, make(LENGTH / 16), 3);
      for (let run = 0; run < 2 && eighth > GROWTH * sixteenth; run++)
        eighth = Math.min(eighth, spent(read, part));
      if (16 * eighth <= MOST_LINEAR_MS && eighth <= GROWTH * sixteenth) continue;
      const given = make(LENGTH);
      let whole = spent(read, given);
      for (let run = 0; run < 3 && !isInTime(whole, eighth); run++)
        whole = Math.min(whole, spent(read, given));
      if (!isInTime(whole, eighth))
        slow.push(
          `${JSON.stringify(REPEATED[at])}: ${whole.toFixed()} ms, an eighth of it ${eighth.toFixed(1)} ms`,
        );
    }
    expect(slow).toEqual([]);
  });
});
