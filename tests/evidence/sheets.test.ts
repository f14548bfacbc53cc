import fc from "fast-check";
import { expect, test } from "vitest";
import { KINDS, unitOf } from "../../convex/evidence/kinds";
import { factsIn, sheetsOf, factIn } from "../../convex/evidence/sayings";
import { namesIn } from "../../convex/lib/records/records";

/** What rows keep of facts, which says each thing once that several have in common. */

const said = fc.record({
  subject: fc.constantFrom("BTC", "ETH", "market"),
  kind: fc.constantFrom(...namesIn(KINDS)),
  value: fc.oneof(fc.double({ noNaN: true }), fc.string({ unit: "grapheme" })),
  observedAt: fc.constantFrom(1, 2),
  source: fc.constantFrom("CoinGecko", "Coinbase"),
  url: fc.constantFrom(
    "",
    "https://a.example/\u{1F600}",
    "https://a.example/\u{1F601}",
    "https://a.example/b",
  ),
});

test("a row tells the facts that it was made from, and each of them when asked for it", () => {
  fc.assert(
    fc.property(fc.array(said), (some) => {
      const facts = some.map((one) => ({ ...one, unit: unitOf(one.kind) }));
      const row = { facts: sheetsOf(facts) };
      const inOrder = (all: readonly object[]) =>
        all.map((one) => JSON.stringify(Object.entries(one).sort())).sort();
      expect(inOrder(factsIn(row))).toEqual(inOrder(facts));
      for (const { url } of row.facts) expect(url.isWellFormed()).toBe(true);
      for (const { subject, kind } of facts) expect(factIn(row, subject, kind)).not.toBeNull();
      expect(factIn(row, "nobody", "price")).toBeNull();
    }),
  );
});
