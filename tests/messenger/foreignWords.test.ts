import { expect } from "vitest";
import { renderCard, type Paragraph } from "../../convex/messenger/format";
import { linkedUser, say, test } from "../bot/support";

/** What others wrote stands in cards as words: the messenger makes no link, name or command of it. */

const BAIT = [
  ...["base-airdrop.exchange", "base-airdrop.gift", "bit.ly/x", "telegram.dog", "1.2.3.4/x", "EVIL.COM"],
  ...["https://localhost", "tg://resolve?domain=evil", "a@b.io", "@BaseSupportBot", "/stop", "пример。com"],
  ...[
    "https://base-airdrop.exchange/now",
    "evil.xn--p1ai",
    "sub.1.evil.io:8080/x?y=z",
    "evil.\u00ADcom",
    "рф.рф",
  ],
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

test.for(BAIT)("%s is text in a card, however it is spread over spans", (bait) => {
  expect(foundIn(bait)).not.toEqual([]);
  const cards: Paragraph[] = [
    [bait],
    [{ bold: `See ${bait}!` }],
    [{ words: bait, href: "https://own.example" }],
  ];
  for (let at = 1; at < bait.length; at++) cards.push([bait.slice(0, at), { bold: bait.slice(at) }]);
  for (const card of cards) expect(foundIn(renderCard([card]).join("\n"))).toEqual([]);
});

test("what is no bait stays as it is; a command is one where it is meant, and so is a link", () => {
  for (const words of [
    "BTC rose 1.5\u202F% to $65,000.12 …",
    "24/7, BTC/USDT, and/or",
    "At 14:30. Then (v. 2) more...",
  ])
    expect(renderCard([[words]])).toEqual([words]);
  expect(renderCard([["Send ", { command: "help" }, " /stop"], [{ command: "evil.com" }]])).toEqual([
    "Send /help /\u2060stop\n\n/\u2060evil.\u2060com",
  ]);
  expect(renderCard([[{ words: "Chart", href: "https://own.example/?a=1&b" }]])).toEqual([
    '<a href="https://own.example/?a=1&amp;b">Chart</a>',
  ]);
});

test("what a model says after what it has read is text; a command that somebody copies from a card works", async ({
  app,
}) => {
  const content = `Claim at ${BAIT.join(" or ")} today.`;
  app.standins.fail("llm", { mode: "reply", schema: "chat", content });
  const [answer = ""] = await say(app, "What is new?");
  expect(answer).toContain("Claim at base-airdrop.\u2060exchange");
  expect(foundIn(answer)).toEqual([]);
  await linkedUser(app, "alice");
  expect(await say(app, "/\u2060stop")).toEqual(["You have no research shift running."]);
});
