import { percent } from "../lib/text/numbers";
import { HOUR, iso } from "../lib/time";
import type { readStatus } from "../ops/http";
import type { Page } from "./layout";
import { Empty, Moment, orNone } from "./parts";

/** What works now and how the last 90 days went, for users. */

type StatusData = Awaited<ReturnType<typeof readStatus>>;
type Trouble = StatusData["troubles"][number];

const HAPPENED: Readonly<Record<Trouble, string>> = {
  down: "The service did not answer",
  late: "Work was late",
  answers: "Questions and research failed often",
  wallets: "Swaps and sends failed often",
  payments: "Payments failed often",
  messages: "Messages were late or failed often",
};

const SHOWN = 20;

export function statusPage({ time, troubles, uptime }: StatusData): Page {
  const { since, percent: share, incidents } = uptime;
  const isWell = troubles.length === 0;
  const content = (
    <>
      <h1>Status</h1>
      <p class="lead">
        <span class={`tag ${isWell ? "up" : "down"}`}>
          {isWell ? "Everything works" : "Not everything works"}
        </span>{" "}
        at <Moment at={time} />
        {isWell && ": answers, research, messages, wallets and payments. "}
        {isWell && <a href="/start">Start using it</a>}
      </p>
      {!isWell && (
        <div class="card">
          <ul class="list">
            {troubles.map((one) => (
              <li class="head">
                <span>{HAPPENED[one]}</span>
                <span class="tag down">trouble</span>
              </li>
            ))}
          </ul>
        </div>
      )}
      <h2 id="uptime">The last 90 days</h2>
      {since === null ? (
        <Empty>Each hour counts here once it is over, from the first full one on.</Empty>
      ) : (
        <p class="figure">
          {orNone(share, (value) => percent(value, 2))}
          <small class="below">
            of the hours since <Moment at={iso(since)} /> were served
            {incidents.length === 0 && ", and nothing went wrong"}
          </small>
        </p>
      )}
      {incidents.length > 0 && (
        <>
          <h2 id="incidents">What went wrong</h2>
          <div class="card">
            <ul class="list">
              {incidents.slice(0, SHOWN).map(({ code, from, to }) => {
                const hours = Math.round((to - from) / HOUR);
                return (
                  <li class="head">
                    <span>{HAPPENED[code]}</span>
                    <span class="small">
                      <Moment at={iso(from)} />, {hours === 1 ? "within an hour" : `for ${hours} hours`}
                    </span>
                  </li>
                );
              })}
            </ul>
          </div>
        </>
      )}
    </>
  );
  return {
    title: "Status",
    description: "What works now, and how the last 90 days went.",
    path: "/status",
    content,
  };
}
