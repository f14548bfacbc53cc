import type { Child } from "hono/jsx";
import type { ActionCtx } from "../_generated/server";
import type { OverviewItem, Overview } from "../accounts/overview";
import { getOptional } from "../lib/env";
import { getErrorData } from "../lib/errors";
import { internal } from "../_generated/api";
import { formatGain, formatMoney, formatSignedPercent } from "../lib/text/numbers";
import { formatDate, HOUR, toIso } from "../lib/time";
import { readPortfolio } from "../wallets/holdings";
import { formatShortAmount, EXPLORER } from "../wallets/model";
import type { Worth } from "../wallets/past/looks";
import type { Result } from "../wallets/result";
import { buildNoticePage, type Page } from "./layout";
import { CardSection, Facts, formatOrNone, Moment, Out, Table, type Term } from "./parts";
import { WorthChart } from "../pictures/courses";

/** The owner's page, read-only but for a freeze, and the pages around it. */

type Opened = { overview: Overview; form: string };

/** @param opened.form The text that proves that the form to freeze is this page's. */
export async function buildMePage(ctx: ActionCtx, { overview, form }: Opened): Promise<Page> {
  const { waiting, orders, alerts, keys, recipients } = overview;
  const held = await Promise.all(overview.wallets.map((wallet) => readHoldings(ctx, wallet)));
  const books = held.filter(({ book }) => book !== undefined);
  const values = (books.length > 0 ? books : held).map(({ portfolio }) => portfolio?.totalValueUsd ?? null);
  const total = values.reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
  const content = (
    <>
      <h1>Your account</h1>
      <p class="lead">
        <code>{overview.pseudonym}</code> is its name for others. This page is open until{" "}
        <Moment at={toIso(overview.expiresAt)} />. <a href="#freeze">Freeze</a>
      </p>
      {overview.warnings.map((text) => (
        <p class="note">{text}</p>
      ))}
      <Facts
        kind="facts"
        of={[
          [
            "Worth",
            formatOrNone(total, formatMoney, "unknown"),
            books.length > 0 ? "on paper" : "at live prices",
          ],
          ["Left to move", formatMoney(overview.leftUsd), "in 24 hours"],
          ["Waiting for your tap", waiting.length, "in your chat"],
          ["State", overview.isFrozen ? "frozen" : "active"],
        ]}
      />
      <div class="grid">
        {waiting.length > 0 && <List id="waiting" title="Waits for your tap" of={waiting} none="" isPart />}
        {held.map(Holdings)}
        <List id="orders" title="Orders" of={orders} none="Nothing was ordered yet." isPart />
      </div>
      <h2 id="rules">Rules and access</h2>
      <div class="grid two">
        <CardSection id="limits" title="Limits in any 24 hours">
          <Facts of={overview.limits.map(toTerm)} />
        </CardSection>
        <CardSection id="logins" title="Login and chat">
          <Facts of={overview.logins.map(toTerm)} />
        </CardSection>
        <List id="recipients" title="Recipients" of={recipients} none="No address is on your list." />
        <List id="keys" title="Keys" of={keys} none="No program has a key." />
        <List id="alerts" title="Alerts and standing orders" of={alerts} none="None is set." />
        <CardSection id="freeze" title="Stop everything">
          <p>
            A freeze stops every order, cancels what has not taken effect yet (a higher limit, a new key or
            recipient), and closes this page. It ends two hours after you ask for its end.
          </p>
          <form action="/me/freeze" method="post">
            <input type="hidden" name="form" value={form} />
            <button class="stop">Freeze my account</button>
          </form>
        </CardSection>
      </div>
      <form action="/me/logout" method="post">
        <button>Log out</button>
      </form>
    </>
  );
  return { title: "Your account", description: "Only its owner sees this.", path: "", content };
}

const toTerm = ({ term, value, note }: Overview["limits"][number]): Term => [term, value, note];

/** A wallet's holdings; `null` while the chain does not answer, because the page has to open all the same. */
async function readHoldings(ctx: ActionCtx, wallet: Overview["wallets"][number]) {
  const portfolio = await readPortfolio(ctx, wallet).catch((error: unknown) => {
    if (getErrorData(error)?.code === "upstream") return null;
    throw error;
  });
  const course = { walletId: wallet.walletId, now: Date.now() };
  const worths: Worth[] = await ctx.runQuery(internal.wallets.past.looks.readCourse, course);
  // What it is worth now is one figure on the whole page.
  const last = worths.at(-1);
  if (last !== undefined && portfolio !== null) last.value = portfolio.totalValueUsd;
  return { ...wallet, portfolio, worths };
}

function Holdings({ kind, address, book, portfolio, worths }: Awaited<ReturnType<typeof readHoldings>>) {
  const held = portfolio?.balances.filter(({ raw }) => raw !== "0") ?? [];
  const rows = held.map(({ token, balance, valueUsd, unrealisedUsd = null }) => [
    token,
    formatShortAmount(balance),
    formatOrNone(valueUsd, formatMoney, "no live price"),
    formatOrNone(unrealisedUsd, formatGain, ""),
  ]);
  const real = kind === "custody" ? "Wallet on Base" : "Basic wallet on Base";
  const title = book === undefined ? real : "📝 Paper: your book";
  const none =
    portfolio === null ? "The chain does not answer just now: try again in a minute." : "It is empty.";
  return (
    <CardSection id={kind} title={title} isPart>
      {book === undefined && <Explorer to={`https://basescan.org/address/${address}`}>{address}</Explorer>}
      {rows.length === 0 && <p>{none}</p>}
      {rows.length > 0 && (
        <Table name="Holdings" heads={["Token", "Balance", "Value", "Gain"]} wide={4} rows={rows} />
      )}
      {portfolio !== null && portfolio.result.since !== null && <Facts of={listResult(portfolio.result)} />}
      {kind === "custody" && book === undefined && isLong(worths) && (
        <figure>
          <WorthChart worths={worths} />
          <figcaption>
            Solid: <strong>what it was worth</strong>. Dashed: paid in less taken out. Times in UTC.
          </figcaption>
        </figure>
      )}
    </CardSection>
  );
}

/** Whether a course is long enough for a chart. */
const isLong = (worths: readonly Worth[]) => (worths.at(-1)?.at ?? 0) - (worths[0]?.at ?? 0) >= HOUR;

function listResult(result: Result): Term[] {
  const { since, percent, totalUsd, realisedUsd, feesUsd, paidInUsd, takenOutUsd } = result;
  return [
    ["Made in all", formatGain(totalUsd), percent === null ? "" : formatSignedPercent(percent)],
    ["By swaps", formatGain(realisedUsd)],
    ["Network fees", formatMoney(feesUsd)],
    ["Paid in", formatMoney(paidInUsd), since === null ? "" : `since ${formatDate(Date.parse(since))}`],
    ["Taken out", formatMoney(takenOutUsd)],
  ];
}

function Explorer({ to, children }: { to: string; children: Child }) {
  return (
    <p class="small">
      <Out to={to}>
        <code>{children}</code>
      </Out>
    </p>
  );
}

function List(section: {
  id: string;
  title: string;
  of: readonly OverviewItem[];
  none: string;
  isPart?: boolean;
}) {
  const { of, none, ...named } = section;
  return (
    <CardSection {...named}>
      {of.length === 0 && <p>{none}</p>}
      <ul class="list" hidden={of.length === 0}>
        {of.map(({ what, note, more, txHash }) => (
          <li>
            <div class="head">
              <strong>{what}</strong>
              <span class="small">{note}</span>
            </div>
            {more !== undefined && <p class="small">{more}</p>}
            {txHash !== undefined && <Explorer to={EXPLORER + txHash}>{txHash}</Explorer>}
          </li>
        ))}
      </ul>
    </CardSection>
  );
}

/** @param token Of the link that opens the page; it comes from the address. */
export function buildOpenPage(token: string): Page {
  const text =
    "It shows what you hold, and stays open in this browser for an hour. Open it only if you have just asked for the link yourself: another person's link shows another person's wallet.";
  const form = (
    <form action="/me/open" method="post">
      <input type="hidden" name="token" value={token} />
      <button>Open</button>
    </form>
  );
  return buildNoticePage("Open your page?", text, form);
}

/** The page without a session, whether there was one or not. */
export function buildClosedPage(): Page {
  const name = getOptional("MESSENGER_BOT_NAME");
  const bot = name === undefined ? "the bot" : <Out to={`https://t.me/${name}`}>@{name}</Out>;
  const more = (
    <p>
      Send <code>/me</code> to {bot} in a private chat, or ask for the link in the web application. It works
      once, within 10 minutes. No account yet? <a href="/start">Start</a>
    </p>
  );
  return buildNoticePage("Your page is closed", "It opens by a link that only you can get.", more);
}

export function buildFrozenPage(): Page {
  const text =
    "From now on nothing is signed for its wallets, and this page is closed. To end the freeze, send /unfreeze to the bot if that chat is your login, or sign in to the web application: it ends two hours later.";
  return buildNoticePage("Your account is frozen", text);
}

/** The form that ends a claim of an id, which would stay in histories and logs if it were part of an address. */
export function buildClaimPage() {
  const text = (
    <>
      Has somebody else claimed your account id? Until the time in every answer to the id you can end that
      claim; the id stays as it is then.
    </>
  );
  const form = (
    <form action="/claim/end" method="post">
      <label>
        Your account id
        <input name="id" required autocomplete="off" maxlength={128} />
      </label>
      <button>End the claim</button>
    </form>
  );
  return buildNoticePage("End a claim?", text, form);
}

export function buildEndedPage(id: string) {
  const text = (
    <>
      <code>{id}</code> stays as it was, and nobody can claim it for a week. Use the week to move what it
      holds; after it you can <a href="/start#id">own it yourself</a>.
    </>
  );
  return buildNoticePage("The claim has ended", text);
}
