import { describe, expect, test } from "vitest";
import { variableNames } from "../../convex/lib/env";
import { problemsOf, settingsIn, told } from "../../scripts/env/file";
import { nearestName } from "../../scripts/env/names";

const all = (text: string) => problemsOf(text).map((one) => told(one, ".env.local"));

describe("a settings file", () => {
  test("that is whole has no problems", () => {
    const file = [
      "# a comment",
      "",
      "LLM_GATEWAY_API_KEY=bk_0123456789",
      'export SENTIMENT_API_KEY="xai-0123456789" # with a remark',
      "SWAP_API_KEY=",
      "TRADING_PAUSED=true",
      "CONVEX_DEPLOYMENT=dev:happy-otter-123 # team: a, project: b",
      "AUTH_ISSUER=https://id.example",
    ];
    expect(all(file.join("\n"))).toEqual([]);
    expect(all(file.join("\r\n"))).toEqual([]);
  });

  test("has its lines that are none, and names that nothing reads, told by line with the nearest name", () => {
    const file =
      "LLM_GATEWAY_KEY=bk_0123456789\nthis is no setting\nWALLET_ENCRPYTION_KEY=\nFAVOURITE_COLOUR=blue\n";
    expect(all(file)).toEqual([
      ".env.local, line 1: LLM_GATEWAY_KEY is no name that anything reads: did you mean LLM_GATEWAY_API_KEY?",
      ".env.local: line 2 is neither NAME=value nor a # comment",
      ".env.local, line 3: WALLET_ENCRPYTION_KEY is no name that anything reads: did you mean WALLET_ENCRYPTION_KEY?",
      ".env.local, line 4: FAVOURITE_COLOUR is no name that anything reads: see .env.local.example for the names",
    ]);
  });

  test.each([
    ["WALLET_ENCRYPTION_KEY=abc", "must be 64 hex digits or base64 of 32 bytes"],
    ["CONFIRMATIONS=two", "must be a positive whole number"],
    ["TRADING_PAUSED=perhaps", "must be true or false"],
    ["CHAIN_RPC_URL=base.example", "must be an http(s) address"],
    ["MAX_TRANSFER_USD=a lot", "must be an amount in USD such as 250 or 99.50"],
    ["LLM_GATEWAY_API_KEY=bk_4711", "is too short to be a key"],
    ["SENTIMENT_API_KEY=your-key-here", "is a placeholder, not a value"],
    ["AUTH_ISSUER=id.example", "must be an https address"],
  ])("%s: %s", (line, says) => {
    const [name = "", value = ""] = line.split("=");
    expect(problemsOf(line)).toEqual([{ line: 1, level: "bad", subject: name, says }]);
    expect(all(line).join("")).not.toContain(value);
  });

  test("is read without the lines that are none, which would swallow the next setting", () => {
    expect(settingsIn("LLM_MODEL=a\ngarbage\nCONFIRMATIONS=2\n")).toEqual({
      LLM_MODEL: "a",
      CONFIRMATIONS: "2",
    });
  });

  test("set twice, quoted without an end, or meant for the process, is told", () => {
    expect(all("LLM_MODEL=a\nLLM_MODEL=b")).toEqual([
      ".env.local, line 2: LLM_MODEL is set in line 1 already: the last one counts",
    ]);
    expect(all('LLM_MODEL="a\nSENTIMENT_MODEL=b')).toEqual([
      ".env.local, line 1: LLM_MODEL has a quote that is never closed",
    ]);
    expect(all("PORT=4000")).toEqual([
      ".env.local, line 1: PORT has no effect here: set it in the environment of the command",
    ]);
  });
});

describe("the nearest name", () => {
  test.each([
    ["LLM_API_KEY", "LLM_GATEWAY_API_KEY"],
    ["llm_gateway_api_key", "LLM_GATEWAY_API_KEY"],
    ["LLM_GATEWAY_API_KEYS", "LLM_GATEWAY_API_KEY"],
    ["MESENGER_CHATID", "MESSENGER_CHAT_ID"],
    ["RPC_URL", "CHAIN_RPC_URL"],
    ["COLOUR", null],
  ])("to %s is %s", (name, nearest) => {
    expect(nearestName(name)).toBe(nearest);
  });

  test("to any known name with a letter too many is that name", () => {
    for (const name of variableNames()) expect(nearestName(`${name}X`)).toBe(name);
  });
});
