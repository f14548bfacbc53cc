import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getNextState, beginAttempt } from "../../convex/messenger/outbox";
import type { SendOutcome } from "../../convex/providers/sendOutcome";

type Happening = SendOutcome | "cut off";

const outcome: fc.Arbitrary<Happening> = fc.oneof(
  fc.constant<SendOutcome>({ kind: "sent" }),
  fc.constant<SendOutcome>({ kind: "wait", retryAfterMs: 7_000, reason: "429" }),
  fc.constant<SendOutcome>({ kind: "uncertain", reason: "timeout" }),
  fc.constant<SendOutcome>({ kind: "migrated", chatId: "-100" }),
  fc.constant<SendOutcome>({ kind: "refused", status: 400, reason: "blocked" }),
  fc.constant("cut off" as const),
);

const fresh = (parts: number) => ({
  parts: Array.from({ length: parts }, (_, n) => `part ${n}`),
  partsSent: 0,
  state: "queued" as "queued" | "sending" | "sent" | "failed" | "skipped",
  dueAt: 0,
  doubts: 0,
  postponements: 0,
});

describe("the delivery of a card", () => {
  test("ends whatever happens, and sends no part more than twice without knowing what became of it", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 3 }),
        fc.array(outcome, { minLength: 120, maxLength: 120 }),
        (parts, outcomes) => {
          let row = fresh(parts);
          let now = 1;
          let isUnderWay = false;
          const unknown = new Map<number, number>();
          for (let steps = 0; row.state === "queued" || row.state === "sending"; steps++) {
            expect(steps).toBeLessThan(100);
            if (row.state === "queued" || !isUnderWay) {
              now = Math.max(now, row.dueAt);
              const began = beginAttempt(row, now);
              expect(began).not.toBeNull();
              row = { ...row, ...began };
              if (row.state === "failed") break;
            }
            isUnderWay = true;
            const happened = outcomes[steps] ?? "cut off";
            if (happened === "cut off" || happened.kind === "uncertain") {
              unknown.set(row.partsSent, (unknown.get(row.partsSent) ?? 0) + 1);
              expect(unknown.get(row.partsSent)).toBeLessThanOrEqual(2);
            }
            if (happened === "cut off") isUnderWay = false;
            else row = { ...row, ...getNextState(row, happened, now) };
          }
          expect(row.state === "sent").toBe(row.partsSent === parts);
        },
      ),
    );
  });

  test("waits as long as the messenger says, and does not begin once it is settled", () => {
    const sending = { ...fresh(1), state: "sending" as const };
    const change = getNextState(sending, { kind: "wait", retryAfterMs: 7_000, reason: "429" }, 1_000);
    expect(change).toMatchObject({ state: "queued", dueAt: 8_000 });
    for (const state of ["sent", "failed", "skipped"] as const)
      expect(beginAttempt({ ...fresh(1), state }, 9)).toBeNull();
  });
});
