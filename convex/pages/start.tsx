import type { ActionCtx } from "../_generated/server";
import { getOptional, getSiteUrl } from "../lib/env";
import { toChecksum } from "../lib/money/base";
import { canSettleAuthorizations } from "../payments/challenge";
import { PROXY_PATH, TOOLS_PATH } from "../lib/version";
import { PAID_PATH } from "../payments/terms";
import { resultExample } from "../research/views";
import { readWritings, type Writing } from "../research/http";
import type { Page } from "./layout";
import { BotCode, CardSection, Code, Facts, OpenBot, Since, type Term } from "./parts";
import { Impacts, OutlookLine } from "./research";

/** The page for newcomers: the service, its costs, and the ways to begin. */

export async function buildStartPage(ctx: ActionCtx, now: number): Promise<Page> {
  const [sample] = await readWritings(ctx, "");
  const { PROXY_SHA256 } = await import("./reference/bytes");
  const site = getSiteUrl();
  const content = (
    <>
      <h1>Start</h1>
      <p class="lead">
        This service measures the crypto market, writes reports whose every figure has a source, and issues
        one BTC and one ETH signal a day, all of which stay on record. You use it in a chat, from an AI client
        or from a program; you need no account.
      </p>
      <h2 id="begin">Three ways to begin</h2>
      <div class="grid">
        <CardSection id="bot" title="1. In a chat">
          <Chat />
        </CardSection>
        <CardSection id="ai" title="2. From an AI client">
          <AiClients site={site} sha256={PROXY_SHA256} />
        </CardSection>
        <CardSection id="curl" title="3. From a program">
          <p>The market, a question, a report on a token:</p>
          <Code
            label="First calls"
            text={[
              `curl -s '${site}/mcp/market'`,
              `curl -s '${site}/mcp/chat' -d '{"question":"How is Ethereum doing?"}'`,
              `curl -s '${site}/mcp/research' -d '{"token":"BTC"}'`,
            ].join("\n")}
          />
          <p class="small">
            Every call is in <a href="/docs">the reference</a>.
          </p>
        </CardSection>
      </div>
      <h2 id="sample">What a report looks like</h2>
      <Sample sample={sample} now={now} />
      <h2 id="cost">What it costs</h2>
      <div class="card">
        <Facts kind="noted" of={COSTS} />
      </div>
      <h2 id="buy">Buy a report</h2>
      <Purchase site={site} />
      <h2 id="id">Make an id, and own it</h2>
      <div class="card">
        <p>
          Shifts, alerts and wallets belong to a <code>userId</code> that you choose. Whoever knows it can use
          what is behind it, so make a long one and keep it like a password:
        </p>
        <Code label="A long id" text={`node -p 'crypto.randomUUID()'`} />
        <p>
          This call makes its wallet on Base
          {getOptional("MESSENGER_BOT_NAME") !== undefined && (
            <>
              , and answers with <code>ownerUrl</code>. Open that link in the messenger within the hour and
              tap Own: it is yours at once (later, after 48 hours), and from then on only what you approve
              there moves money, even if somebody learns the id
            </>
          )}
          :
        </p>
        <Code label="Its wallet" text={`curl -s '${site}/mcp/defi/connect' -d '{"userId":"YOUR-LONG-ID"}'`} />
      </div>
    </>
  );
  return {
    title: "Start",
    description: "What this service is, what a report costs, and three ways to begin.",
    path: "/start",
    content,
  };
}

/** The tools' address in the form of each client, then the program for those that start one. */
function AiClients({ site, sha256 }: { site: string; sha256: string }) {
  const url = `${site}${TOOLS_PATH}`;
  const block = (entry: object) => JSON.stringify(entry, null, 2);
  return (
    <>
      <p>Paste this address where your client takes a connector or a remote MCP server. It needs no login.</p>
      <Code label="The address of the tools" text={url} />
      <p class="small">
        Ask it: “How is SOL doing, and what did the last signals come to?” For a wallet ask it to make one: it
        then says which address of your own to use, ending in <code>?userId=</code>. A header{" "}
        <code>X-User-Id</code> or a key (<code>Authorization: Bearer mk_…</code>) does the same.
      </p>
      <details>
        <summary>Claude Code, Cursor, VS Code</summary>
        <h4>Claude Code</h4>
        <Code label="Claude Code" text={`claude mcp add --transport http market-research ${url}`} />
        <h4>Cursor</h4>
        <Code label="Cursor" text={block({ mcpServers: { "market-research": { url } } })} />
        <h4>VS Code</h4>
        <Code label="VS Code" text={block({ servers: { "market-research": { type: "http", url } } })} />
      </details>
      <details>
        <summary>A client that starts programs</summary>
        <p>It needs Node 20 and one file, which has the same tools:</p>
        <Code label="The program" text={`curl -fsS -o proxy.mjs '${site}${PROXY_PATH}'`} />
        <p class="small">
          Its SHA-256 (<code>shasum -a 256 proxy.mjs</code>): <code>{sha256}</code>
        </p>
        <Code
          label="The client's block"
          text={block({
            mcpServers: {
              "market-research": {
                command: "node",
                args: ["/path/to/proxy.mjs"],
                env: { NOELCLAW_CONVEX_URL: site },
              },
            },
          })}
        />
      </details>
    </>
  );
}

/** The newest public report, shortened; before the first, an example of the form. */
function Sample({ sample, now }: { sample: Writing | undefined; now: number }) {
  const of = sample?.result ?? resultExample;
  return (
    <div class="card">
      <OutlookLine of={of} />
      <Impacts of={of} first={3} />
      <p class="small">
        {sample === undefined ? (
          <>An example of its form; the first real one is written when somebody asks. </>
        ) : (
          <>
            The newest, written <Since at={sample.at} now={now} />, shortened:{" "}
            <a href="/research">read the whole</a>.{" "}
          </>
        )}
        It has 400 to 600 words, with figures that code printed from the sources beside them.
      </p>
    </div>
  );
}

const COSTS: readonly Term[] = [
  ["Market, prices, questions, reports on demand", "free", "within limits a day for each address"],
  ["Signals, their record, whale alerts", "free", "also as a table and for programs"],
  ["Shifts of 8 hours with three reports; alerts", "free", "with an id of yours"],
  ["One report, bought", "1.00 USDC", "on Base; no id, and no limit holds it up"],
  ["Wallets, swaps and sends", "the network's fee", "in ETH on Base"],
];

function Chat() {
  return getOptional("MESSENGER_BOT_NAME") === undefined ? (
    <p>
      This deployment has not named a bot yet. Reports and alerts can still be sent to a chat of yours by a
      bot of yours.
    </p>
  ) : (
    <div class="hero">
      <div>
        <p>
          <OpenBot>Open the bot</OpenBot>
        </p>
        <p>
          Tap Start there, then send <code>BTC</code>, <code>/signals</code>, <code>/research SOL</code>, or
          an alert in your own words: “tell me when ETH falls below 3000”. <em>Create my wallet</em> makes a
          wallet on Base that is yours at once; <code>/paper</code> tries everything but the money: live
          quotes and fees, and nothing real moves.
        </p>
      </div>
      <BotCode />
    </div>
  );
}

/** The purchase of a report: by an x402 client, or by hand. */
function Purchase({ site }: { site: string }) {
  const wallet = getOptional("PLATFORM_WALLET_ADDRESS");
  if (wallet === undefined) {
    return (
      <p class="empty">
        This deployment does not sell reports yet. The same report is free on demand, as above.
      </p>
    );
  }
  const url = `${site}${PAID_PATH}`;
  return (
    <div class="grid">
      {canSettleAuthorizations() && (
        <CardSection id="x402" title="By a program (x402)">
          <p>
            An x402 client signs a payment of 1.00 USDC, and the answer is the report. The account needs USDC
            on Base, and no ETH. Save this as <code>buy.mjs</code>:
          </p>
          <Code label="Install the client" text="npm install @x402/fetch @x402/evm viem" />
          <Code
            label="buy.mjs"
            text={`import { ExactEvmScheme } from "@x402/evm";
import { wrapFetchWithPaymentFromConfig } from "@x402/fetch";
import { privateKeyToAccount } from "viem/accounts";

const payer = privateKeyToAccount(process.env.PRIVATE_KEY);
const schemes = [{ network: "eip155:8453", client: new ExactEvmScheme(payer) }];
const pay = wrapFetchWithPaymentFromConfig(fetch, { schemes });
const answer = await pay("${url}", {
  method: "POST",
  body: JSON.stringify({ token: "BTC" }),
});
console.log(JSON.stringify(await answer.json(), null, 2));`}
          />
          <Code label="Run it" text="PRIVATE_KEY=0x… node buy.mjs" />
        </CardSection>
      )}
      <CardSection id="hand" title="By hand">
        <p>
          Send 1.00 USDC on Base (chain 8453) to <code>{toChecksum(wallet) ?? wallet}</code>. Within an hour,
          post the transaction's hash with the token:
        </p>
        <Code
          label="Redeem the payment"
          text={`curl -s '${url}' -H 'X-Payment: 0xYOUR_TRANSACTION' -d '{"token":"BTC"}'`}
        />
        <p class="small">
          A payment buys one report. If a report cannot be written, the same hash yields it later. A token
          that no source knows is not sold.
        </p>
      </CardSection>
    </div>
  );
}
