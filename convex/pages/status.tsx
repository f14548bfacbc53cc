import type { ActionCtx } from "../_generated/server";
import { readStatus } from "../ops/http";
import type { Part } from "../ops/checks";
import { formatDateTime } from "../lib/time";
import { buildNoticePage, type Page } from "./layout";
import { Moment, Table } from "./parts";

/** The state of the service by its parts, for users. */

const NAMES: Readonly<Record<Part | "data", string>> = {
  data: "Prices and market data",
  answers: "Questions and research",
  messages: "The bot and its messages",
  wallets: "Wallets, swaps and sends",
  payments: "Paid reports",
};

export async function buildStatusPage(ctx: ActionCtx): Promise<Page> {
  const { time, parts, isLate, silent } = await readStatus(ctx);
  const isWell = !isLate && parts.every(({ failsSince }) => failsSince === null);
  const lead = (
    <>
      <span class={`tag ${isWell ? "up" : "down"}`}>
        {isWell ? "Everything works" : "Not everything works"}
      </span>{" "}
      at <Moment at={time} />. <a href="/start">Start using it</a>
    </>
  );
  const table = (
    <>
      <div class="card">
        <Table
          name="Each part, and its last trouble"
          heads={["Part", "Now", "Last trouble (UTC)"]}
          wide={3}
          rows={parts.map(({ part, isThere, failsSince, last }) => [
            NAMES[part],
            !isThere ? (
              "not set up here"
            ) : failsSince === null ? (
              <span class="up">works</span>
            ) : (
              <span class="down">has trouble</span>
            ),
            failsSince !== null ? (
              <>since {formatTime(failsSince)}</>
            ) : last === null ? (
              "none known"
            ) : (
              `${formatTime(last.from)} to ${formatTime(last.to)}`
            ),
          ])}
        />
      </div>
      {isLate && <p>Some work is late: it is done as soon as it can be.</p>}
      {silent.map((name) => (
        <p>{name} does not answer: what it says is missing from market, research and answers.</p>
      ))}
    </>
  );
  return {
    ...buildNoticePage("Status", lead, table),
    description: "What works now, and when it last did not.",
    path: "/status",
  };
}

const formatTime = (iso: string): string => formatDateTime(Date.parse(iso)).replace(" UTC", "");
