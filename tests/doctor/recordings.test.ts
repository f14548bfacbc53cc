import { expect, test } from "vitest";
import { replayed } from "../../scripts/doctor/recording/recordings";
import { redactor } from "../../scripts/doctor/recording/redaction";

/** A recording is read again as it was, whatever was taken out of it. */

test("a feed without its editor's address is still a feed", async () => {
  const item =
    "<item><title>Bitcoin holds</title><link>https://www.coindesk.com/markets/bitcoin-holds</link>" +
    "<pubDate>Thu, 12 Mar 2026 08:00:00 GMT</pubDate></item>";
  const feed =
    '<?xml version="1.0"?><rss version="2.0"><channel><webMaster>editor@coindesk.example</webMaster>' +
    `<generator>app_7f19c2d4</generator>${item}</channel></rss>`;
  const body = redactor({})(feed);
  expect(body).not.toMatch(/editor@|7f19c2d4/);
  const url = "https://www.coindesk.com/arc/outboundfeeds/rss/";
  const headers = { "content-type": "application/xml" };
  const finding = await replayed({
    question: "CoinDesk",
    at: Date.UTC(2026, 2, 12, 9),
    exchanges: [
      { request: { method: "GET", url, body: null }, answer: { kind: "answer", status: 200, headers, body } },
    ],
  });
  expect(finding).toMatchObject({ level: "good", says: expect.stringContaining("returns 1 headlines") });
});
