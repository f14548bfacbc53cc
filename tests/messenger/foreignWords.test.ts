import { describe, expect } from "vitest";
import { renderCard, type Paragraph } from "../../convex/messenger/format";
import { linkedUser, say, test } from "../bot/support";

/** What others wrote stands in cards as words: the messenger makes no link, name or command of it. */

const BAIT = [
  ...["base-airdrop.exchange", "base-airdrop.network", "base-airdrop.trade", "base-airdrop.gift"],
  ...["base-airdrop.tech", "bit.ly/x", "telegram.dog", "1.2.3.4/x", "evil.com", "EVIL.COM", "рф.рф"],
  ...["https://localhost", "tg://resolve?domain=evil", "a@b.io", "@BaseSupportBot", "/stop", "пример。com"],
  ...["https://base-airdrop.exchange/now", "evil.xn--p1ai", "sub.1.evil.io:8080/x?y=z", "evil.\u00ADcom"],
];

/** As the messenger's own parser finds them (its open source, `MessageEntity.cpp`), but with any ending. */
const FOUND = [
  /[\p{L}\p{N}_-][.。．｡](?![\s\p{P}\u2060])\D/u,
  /\d{1,3}(?:\.\d{1,3}){3}/,
  /:\/\//,
  /@\w/,
  /(?<![\w/<>])\/\w/,
];

function foundIn(text: string): string[] {
  // The markup is the card's own.
  const words = text.replace(/<\/?b>|<a href="[^"]*">|<\/a>/g, "");
  return FOUND.flatMap((pattern) => pattern.exec(words)?.[0] ?? []);
}

const POST = `Claim at ${BAIT.join(" or ")} today.`;

describe("in a card", () => {
  test.for(BAIT)("%s is text", (bait) => {
    expect(foundIn(bait)).not.toEqual([]);
    for (const card of [
      [[bait]],
      [[{ bold: `See ${bait}!` }]],
      [[{ words: bait, href: "https://own.example" }]],
    ])
      expect(foundIn(renderCard(card).join("\n"))).toEqual([]);
    // However it is spread over spans.
    for (let at = 1; at < bait.length; at++) {
      const spread: Paragraph = [bait.slice(0, at), { bold: bait.slice(at) }];
      expect(foundIn(renderCard([spread]).join("\n"))).toEqual([]);
    }
  });

  test.for([
    "BTC rose 1.5\u202F% to $65,000.12 …",
    "24/7, BTC/USDT, and/or",
    "At 14:30. Then (v. 2) more...",
  ])("%s stays as it is", (words) => {
    expect(renderCard([[words]])).toEqual([words]);
  });

  test("a command is one where it is meant, and so is a link", () => {
    expect(renderCard([["Send ", { command: "help" }, " /stop"], [{ command: "evil.com" }]])).toEqual([
      "Send /help /\u2060stop\n\n/\u2060evil.\u2060com",
    ]);
    expect(renderCard([[{ words: "Chart", href: "https://own.example/?a=1&b" }]])).toEqual([
      '<a href="https://own.example/?a=1&amp;b">Chart</a>',
    ]);
  });
});

describe("what a model says after what it has read", () => {
  test("is text in the bot's answers to a question", async ({ app }) => {
    app.standins.fail("llm", { mode: "reply", schema: "chat", content: POST });
    const [answer = ""] = await say(app, "What is new?");
    expect(answer).toContain("Claim at base-airdrop.\u2060exchange");
    expect(foundIn(answer)).toEqual([]);
  });
});

test("a command that somebody copies from a card works", async ({ app }) => {
  await linkedUser(app, "alice");
  expect(await say(app, "/\u2060stop")).toEqual(["You have no research shift running."]);
});
