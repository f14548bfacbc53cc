import { describe, expect, test } from "vitest";
import { variableNames, type Variable } from "../../convex/lib/env";
import { problemsOf, problemsOfEnvironment, settingsIn, problemLine } from "../../scripts/env/file";
import { nearestName } from "../../scripts/env/names";

const all = (text: string) => problemsOf(text).map((one) => problemLine(one, ".env.local"));

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
      ".env.local, line 1: LLM_GATEWAY_KEY is a name that nothing reads: did you mean LLM_GATEWAY_API_KEY?",
      ".env.local: line 2 is neither NAME=value nor a # comment",
      ".env.local, line 3: WALLET_ENCRPYTION_KEY is a name that nothing reads: did you mean WALLET_ENCRYPTION_KEY?",
      ".env.local, line 4: FAVOURITE_COLOUR is a name that nothing reads: see .env.local.example for the names",
    ]);
  });

  test.each([
    ["WALLET_ENCRYPTION_KEY=abc", "must be 64 hex digits or base64 of 32 bytes"],
    ["CONFIRMATIONS=two", "must be a whole number from 1 to 1000"],
    ["CONFIRMATIONS=100000", "must be a whole number from 1 to 1000"],
    ["CREDITS_PER_USDC=0", "must be a positive whole number"],
    ["TOKENS_PER_CREDIT=1e3", "must be a positive whole number"],
    ["LLM_MODEL=claude haiku", "must be a model's name, without spaces"],
    ["SENTIMENT_MODEL=grok 4", "must be a model's name, without spaces"],
    ["LLM_ENDPOINT=https://llm.example/v1?key=x", "must be an http(s) address without ? and #"],
    ["AGENT_API_URL=ftp://agent.example", "must be an http(s) address"],
    ["SENTIMENT_ENDPOINT=api.x.ai/v1", "must be an http(s) address"],
    ["MESSENGER_API_URL=https://telegram.example/#bot", "must be an http(s) address without ? and #"],
    ["TICKER_API_URL=tickers", "must be an http(s) address"],
    ["SWAP_API_URL=https://swap.example?chain=1", "must be an http(s) address without ? and #"],
    ["X402_FACILITATOR_URL=facilitator", "must be an http(s) address"],
    ["LLM_GATEWAY_API_KEY=bk_0123 4567", "must be printable characters without spaces"],
    ["SWAP_API_KEY=schlüssel-0123", "must be printable characters without spaces"],
    ["DEPOSIT_WEBHOOK_SECRET=4711", "is too short to be a key"],
    ["SOCIAL_WEBHOOK_SECRET=x", "is too short to be a key"],
    ["MESSENGER_WEBHOOK_SECRET=two words", "must be 8 to 256 characters of A-Z, a-z, 0-9, _ and -"],
    ["MESSENGER_BOT_TOKEN=not-a-token", "must be a bot's token: digits, a colon and its secret"],
    ["MESSENGER_CHAT_ID=my chat", "must be a numeric chat id (negative for groups) or @channel"],
    ["MESSENGER_CHAT_ID=abc", "must be a numeric chat id (negative for groups) or @channel"],
    ["SOCIAL_TRADE_CONFIDENCE=80", "must be between 0 and 1"],
    ["MAX_PRICE_IMPACT_BPS=99999", "must be basis points from 0 to 1000"],
    ["MAX_PRICE_IMPACT_BPS=3%", "must be basis points from 0 to 1000"],
    ["UNOWNED_DAILY_USD=-5", "must be an amount in USD such as 250 or 99.50"],
    ["TRUSTED_PROXY_HOPS=one", "must be a number of proxies from 0 to 9"],
    ["BARE_HASH_PROOFS=maybe", "must be on or off"],
    ["PLATFORM_WALLET_ADDRESS=0xabc", "must be an address: 0x and 40 hex digits, not all zero"],
    [`PLATFORM_WALLET_ADDRESS=0x${"0".repeat(40)}`, "must be an address: 0x and 40 hex digits, not all zero"],
    [
      "PLATFORM_WALLET_ADDRESS=0x70997970c51812dc3A010C7d01b50e0d17dc79C8",
      "has a wrong checksum: copy it again from the wallet",
    ],
    [`X402_RELAYER_PRIVATE_KEY=0x${"0".repeat(64)}`, "must be a private key: this number is not one"],
    [`X402_RELAYER_PRIVATE_KEY=0x${"f".repeat(64)}`, "must be a private key: this number is not one"],
    ["X402_RELAYER_PRIVATE_KEY=0x12", "must be a private key: 0x and 64 hex digits"],
    ["WALLET_ENCRYPTION_KEY_PREVIOUS=old", "must be 64 hex digits or base64 of 32 bytes"],
    ["TRADING_PAUSED=perhaps", "must be true or false"],
    ["CHAIN_RPC_URL=base.example", "must be an http(s) address"],
    ["UNOWNED_DAILY_USD=a lot", "must be an amount in USD such as 250 or 99.50"],
    ["LLM_GATEWAY_API_KEY=bk_4711", "is too short to be a key"],
    ["SENTIMENT_API_KEY=your-key-here", "is a placeholder, not a value"],
    ["AUTH_ISSUER=id.example", "must be an https address"],
  ])("%s: %s", (line, says) => {
    const [name = "", value = ""] = line.split(/=(.*)/s);
    expect(problemsOf(`${name}="${value}"`)).toEqual([{ line: 1, level: "bad", subject: name, says }]);
    expect(all(line).join("")).not.toContain(value);
  });

  test("of every variable has some value that is refused, and one that is taken", () => {
    const taken: Partial<Record<Variable, string>> = {
      LLM_MODEL: "anthropic/claude-haiku-4.5",
      LLM_ENDPOINT: "https://llm.bankr.bot/v1/chat/completions",
      CHAIN_RPC_URL: "https://rpc.example/v2/key?plan=free",
      MESSENGER_BOT_TOKEN: "123456789:AAE-secret_of_35_characters_or_more",
      MESSENGER_CHAT_ID: "-1001234567890",
      MAX_PRICE_IMPACT_BPS: "0",
      CONFIRMATIONS: "1000",
      PLATFORM_WALLET_ADDRESS: "0x70997970C51812dc3A010C7d01b50e0d17dc79C8",
      X402_RELAYER_PRIVATE_KEY: "0x8f1d0c3b5a7e92461f3d8b6c0a5e7d9244c6f81b3e5a70d92c8b4f6e1a3d5c70",
    };
    for (const name of variableNames()) expect(problemsOf(`${name}="no such \u{1F600}"`)).toHaveLength(1);
    for (const [name, value] of Object.entries(taken)) expect(all(`${name}="${value}"`)).toEqual([]);
  });

  test("is read without the lines that are none, which would swallow the next setting", () => {
    expect(settingsIn("LLM_MODEL=a\ngarbage\nCONFIRMATIONS=2\n")).toEqual({
      LLM_MODEL: "a",
      CONFIRMATIONS: "2",
    });
  });

  test("set twice, quoted without an end, or meant for the process, is told", () => {
    expect(all("LLM_MODEL=a\nLLM_MODEL=b")).toEqual([
      ".env.local, line 2: LLM_MODEL is set in line 1 already: the last line counts",
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

  test("is told of the environment's own names only where they all but are one", () => {
    const told = (name: string) => problemsOfEnvironment({ [name]: "x" }).map(({ says }) => says);
    for (const name of [
      "LLM_API_KEY",
      "SENTIMNT_API_KEY",
      "llm_endpoint",
      "MESSENGER_CHATID",
      "WALET_ENCRYPTION_KEY",
    ])
      expect(told(name)).toEqual([expect.stringMatching(/^is a name that nothing reads: did you mean /)]);
    const others = [
      "PATH",
      "HOST",
      "HOME",
      "API_KEY",
      "RPC_URL",
      "OPENAI_API_KEY",
      "MY_API_URL",
      "LOG_LEVEL",
      "LC_ALL",
      "SSH_AUTH_SOCK",
      "NODE_OPTIONS",
      "npm_config_port",
      "SWAP_SIZE",
      "CHAIN_LENGTH",
      "LLM_CACHE_DIR",
      "AUTH_TOKEN",
    ];
    for (const name of others) expect(told(name)).toEqual([]);
    expect(problemsOfEnvironment({ LLM_API_KEY: "" })).toEqual([]);
  });

  test("to any known name with a letter too many is that name", () => {
    for (const name of variableNames()) expect(nearestName(`${name}X`)).toBe(name);
  });
});
