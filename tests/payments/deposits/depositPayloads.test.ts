import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { NEVER } from "../../../convex/lib/time";
import { nextMatch, nextRecheck, waitDelay } from "../../../convex/payments/deposits/model";
import { depositPayload, MAX_LOGS } from "../../../convex/payments/deposits/payloads";
import { isSigned } from "../../../convex/payments/deposits/signatures";

const HASH = `0x${"ab".repeat(32)}`;
const OTHER = `0x${"cd".repeat(32)}`;

const txHash = fc.stringMatching(/^0x[0-9a-fA-F]{64}$/);
const logIndex = fc.integer({ min: 0, max: 9_999 });
const transfers = fc.uniqueArray(fc.record({ txHash, logIndex, removed: fc.boolean() }), {
  maxLength: 100,
  selector: ({ txHash: hash }) => hash.toLowerCase(),
});
type Transfers = typeof transfers extends fc.Arbitrary<infer Value> ? Value : never;

const hints = (body: unknown) => depositPayload.parse(body);
const whole = (named: Transfers, reorged: boolean) =>
  named.map(({ txHash: hash, logIndex: index, removed }) => ({
    txHash: hash.toLowerCase(),
    logIndexes: [index],
    removed: removed || reorged,
  }));
const hashes = (count: number) =>
  Array.from({ length: count }, (_, index) => `0x${index.toString(16).padStart(64, "0")}`);

describe("payloads", () => {
  test("Alchemy's transfers of ether and NFTs name nothing", () => {
    const activity = ["external", "internal", "erc721", "erc1155"].map((category) => ({
      hash: HASH,
      category,
    }));
    expect(hints({ event: { activity } })).toEqual([]);
    expect(hints({ event: { activity: [{ hash: HASH, category: "erc20" }] } })).toEqual([
      { txHash: HASH, logIndexes: [], removed: false },
    ]);
  });

  test("QuickNode's name transactions at any depth, and all of them again after a reorganisation", () => {
    const keys = fc.constantFrom("txHash", "transactionHash", "transaction_hash", "hash");
    fc.assert(
      fc.property(transfers, keys, fc.boolean(), (named, key, reorged) => {
        const entries = named.map(({ txHash: hash, ...rest }) => ({ [key]: hash, ...rest }));
        const half = Math.floor(entries.length / 2);
        const data = [entries.slice(0, half), { block: 1, transfers: entries.slice(half) }];
        const metadata = { network: "base-mainnet", blocks_reorged: reorged ? [7] : null };
        expect(hints({ data, metadata })).toEqual(whole(named, reorged));
      }),
    );
    expect(hints({ data: [null, 1, "x", {}, []] })).toEqual([]);
    const deep = JSON.parse(`${"[".repeat(20_000)}{"hash":"${HASH}"}${"]".repeat(20_000)}`);
    expect(hints({ data: [deep] })).toHaveLength(1);
  });

  test("a block of QuickNode's names its transactions, as objects or as hashes, and not itself", () => {
    const header = {
      hash: OTHER,
      number: "0x1",
      parentHash: `0x${"ef".repeat(32)}`,
      transactionsRoot: OTHER,
    };
    const names = (...data: unknown[]) => hints({ data }).map((one) => one.txHash);
    const [first = "", second = ""] = hashes(2);
    const mined = [first, second].map((hash) => ({ hash, blockHash: OTHER, input: "0x" }));
    expect(names({ ...header, transactions: mined })).toEqual([first, second]);
    expect(names([{ ...header, transactions: [first, second] }])).toEqual([first, second]);
    expect(names({ hash: OTHER, transactions: [first, "0x12", 7, null] })).toEqual([first]);
    expect(names({ ...header, uncles: [HASH], withdrawals: [] })).toEqual([]);
    const receipts = [{ transactionHash: HASH, blockHash: OTHER, logs: [{ transactionHash: HASH }] }];
    expect(names({ block: { ...header, transactions: mined }, receipts })).toEqual([first, second, HASH]);
    expect(names(mined)).toEqual([first, second]);
  });

  test("repetitions count once, and a removal among them stays", () => {
    const named = { txHash: HASH, logIndex: 1 };
    const data = [
      { ...named, removed: false },
      { ...named, removed: true },
      named,
      { ...named, txHash: OTHER },
    ];
    expect(hints({ data })).toEqual([
      { txHash: HASH, logIndexes: [1], removed: true },
      { txHash: OTHER, logIndexes: [1], removed: false },
    ]);
  });

  test("transactions count, not their logs: one with very many pushes none aside", () => {
    const logs = Array.from({ length: 5_000 }, (_, index) => ({
      hash: HASH,
      category: "token",
      log: { logIndex: `0x${index.toString(16)}`, removed: index === 4_999 },
    }));
    const [noisy, quiet] = hints({
      event: { activity: [...logs, { hash: OTHER, log: { logIndex: "0x7" } }] },
    });
    expect([noisy?.txHash, noisy?.logIndexes.length, noisy?.removed]).toEqual([HASH, MAX_LOGS, true]);
    expect(quiet).toEqual({ txHash: OTHER, logIndexes: [7], removed: false });
  });

  test("as many transactions as the largest body holds", () => {
    const data = [{ transactions: hashes(15_000) }];
    expect(JSON.stringify({ data }).length).toBeLessThan(1024 * 1024);
    expect(hints({ data })).toHaveLength(15_000);
  });

  test("whatever comes, the outcome is hints or a refusal", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        for (const body of [value, { event: value }, { data: value }, { transaction_hash: value }]) {
          const parsed = depositPayload.safeParse(body);
          for (const one of parsed.data ?? []) expect(one.txHash).toMatch(/^0x[0-9a-f]{64}$/);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("signatures", () => {
  const BODY = '{"ok":true}';
  const AT = 1_700_000_000_000;
  const signed = (secret: string, headers: Record<string, string>, body = BODY, now = AT) => {
    const all = new Headers(headers);
    return isSigned((name) => all.get(name), body, secret, now);
  };

  const ALCHEMY = "25f6088b8b2eef521f2873f58c70026ebb3bedf2f3bd6adf2332b78c06800bf4";
  const QUICKNODE = "fb30c69e997156d30bc175017c4862ec766462187aa7f6d6758675c5218e63fd";
  const CDP = "46a00797c44569e68d768b1badf839caf3fcca0a51bd27f8d535a1449a4e2c81";
  const quickNode = { "x-qn-signature": QUICKNODE, "x-qn-nonce": "n0nce", "x-qn-timestamp": "1700000000" };
  const hook0 = { "X-Hook0-Signature": `t=1700000000,v0=${CDP},h=content-type,v1=${"0".repeat(64)}` };

  test("the signatures that providers publish as examples are accepted", () => {
    expect(signed("whsec_test", { "X-Alchemy-Signature": ALCHEMY })).toBe(true);
    expect(signed("whsec_test", { "X-Webhook-Signature": ALCHEMY })).toBe(true);
    expect(signed("qntoken", quickNode)).toBe(true);
    expect(signed("cdpsecret", hook0)).toBe(true);
  });

  test("another secret, body or header is refused", () => {
    expect(signed("whsec_tess", { "X-Alchemy-Signature": ALCHEMY })).toBe(false);
    expect(signed("whsec_test", { "X-Alchemy-Signature": ALCHEMY }, `${BODY} `)).toBe(false);
    expect(signed("whsec_test", {})).toBe(false);
    expect(signed("qntoken", { ...quickNode, "x-qn-nonce": "other" })).toBe(false);
    expect(signed("cdpsecret", { "X-Hook0-Signature": `t=1700000001,v0=${CDP}` })).toBe(false);
    for (const name of [
      "x-alchemy-signature",
      "x-webhook-signature",
      "x-qn-signature",
      "x-hook0-signature",
    ]) {
      for (const value of ["", "0", "zz", ALCHEMY.slice(1), `${ALCHEMY}00`, "t=,v0=", "t=1700000000,v0="]) {
        expect([name, value, signed("secret", { ...quickNode, [name]: value })]).toEqual([
          name,
          value,
          false,
        ]);
      }
    }
  });

  test("dated ones are good for five minutes either way", () => {
    for (const [secret, headers] of [["qntoken", quickNode] as const, ["cdpsecret", hook0] as const]) {
      for (const [offset, good] of [
        [300_000, true],
        [-300_000, true],
        [300_001, false],
        [-300_001, false],
      ] as const) {
        expect([secret, offset, signed(secret, headers, BODY, AT + offset)]).toEqual([secret, offset, good]);
      }
    }
  });

  test("no random signature of a deposit passes", () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[0-9a-f]{64}$/), fc.string(), (hex, body) => {
        expect(signed("secret", { "x-webhook-signature": hex, "x-alchemy-signature": hex }, body)).toBe(
          false,
        );
      }),
    );
  });
});

describe("phases", () => {
  test("waiting grows to an hour, two re-checks end, unmatched ones are asked daily in the end", () => {
    expect([0, 1, 4, 20, 1_000].map(waitDelay)).toEqual([2_000, 4_000, 32_000, 3_600_000, 3_600_000]);
    expect([0, 1, 2, 9].map((checks) => nextRecheck(0, checks))).toEqual([60_000, 240_000, NEVER, NEVER]);
    expect([0, 3_600_000, 10 * 86_400_000].map((age) => nextMatch(age, 0) - age)).toEqual([
      300_000, 3_600_000, 86_400_000,
    ]);
  });
});
