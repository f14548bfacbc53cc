import { sourceName } from "../lib/publicSources";
import { shortUsd, signed } from "../lib/text/numbers";
import { MINUTE } from "../lib/time";
import type { PublicSignal } from "../signals/shapes";
import { Chart, isDrawn, type Frame, type Point } from "./chart";
import type { SignalData } from "./data";
import type { Page } from "./layout";
import { Ending, Facts, Moment, money, orNone, Side, sourceNames } from "./parts";

/** One signal: its page, and its levels on the path of the price, which the first page and pictures show, too. */

export function signalPage(data: SignalData): Page {
  const { signal, issued } = data;
  const { id, token, confidence, reasoning, generatedAt, expiresAt, closedAt, exitPrice } = signal;
  const name = `${token} signal of ${id.slice(token.length + 1)}`;
  const at = typeof exitPrice === "number" ? ` at ${money(exitPrice)}` : "";
  const content = (
    <>
      <h1>{name}</h1>
      <p class="lead">
        <Side side={signal.signal} /> <Ending signal={signal} />
      </p>
      <div class="grid aside">
        <div class="grid">
          <div class="card">
            <SignalFigure data={data} />
          </div>
          <section class="card" aria-labelledby="said">
            <h2 id="said" class="plain">
              The model's view
            </h2>
            <p>“{reasoning}”</p>
            <Facts
              of={[
                ["Stated confidence", `${confidence} %`],
                [
                  "Chance of its levels",
                  orNone(signal.chancePercent, (share) => `${share.toFixed(0)} %`, "none"),
                ],
                [
                  "Earns its costs from",
                  orNone(signal.breakEvenPercent, (share) => `${share.toFixed(0)} %`, "none"),
                ],
                ["Model", issued.model],
              ]}
            />
          </section>
        </div>
        <div class="grid">
          <section class="card" aria-labelledby="levels">
            <h2 id="levels" class="plain">
              Levels
            </h2>
            <Facts
              of={[
                ["Entry", money(signal.entry)],
                ...targetsOf(signal),
                ...(signal.tp1 === null ? [["Position", "none"] as const] : []),
                ["Price at issue", money(issued.priceUsd)],
                [
                  "Source",
                  <>
                    {sourceName(issued.source)}, <Moment at={issued.observedAt} />
                  </>,
                ],
                ["Issued", <Moment at={generatedAt} />],
                ["Valid until", <Moment at={expiresAt} />],
                ...(closedAt === undefined
                  ? []
                  : [
                      [
                        "Closed",
                        <>
                          <Moment at={closedAt} />
                          {at}
                        </>,
                      ] as const,
                    ]),
              ]}
            />
          </section>
        </div>
      </div>
      <p>
        Part of <a href="/record">the record</a>, which anybody can check. The next ones by message, or for a
        program: <a href="/start">start here</a>.
      </p>
    </>
  );
  return {
    title: name,
    description: `${signal.signal} at ${money(signal.entry)}, and what became of it.`,
    path: `/signals/${id}`,
    content,
  };
}

function targetsOf({ entry, tp1, tp2, sl }: PublicSignal) {
  const levels = [
    ["Target 1", tp1],
    ["Target 2", tp2],
    ["Stop", sl],
  ] as const;
  return levels.flatMap(([name, price]) =>
    price === null
      ? []
      : [
          [
            name,
            <>
              {money(price)} <span class="soft">{signed((price / entry - 1) * 100)}</span>
            </>,
          ] as const,
        ],
  );
}

/** How much of the path is shown before the issue of a signal and after its end. */
const MARGIN_MS = 30 * MINUTE;

/** The time for which a signal's path is shown, epoch ms: to its end, or to its expiry while it is open. */
function windowOf({ generatedAt, expiresAt, closedAt }: PublicSignal): { from: number; to: number } {
  return {
    from: Date.parse(generatedAt) - MARGIN_MS,
    to: Date.parse(closedAt ?? expiresAt) + (closedAt === undefined ? 0 : MARGIN_MS),
  };
}

/** The chart of one signal, and who gave its prices. */
export function SignalFigure({ data: { signal, issued, path } }: { data: SignalData }) {
  const points = coursesOf(signal, path);
  const names = sourceNames([...path, { source: issued.source }]);
  return (
    <figure>
      {isDrawn(points) ? (
        <Levels signal={signal} points={points} window={windowOf(signal)} />
      ) : (
        <p class="empty">Its chart begins with the next price, within five minutes.</p>
      )}
      <figcaption>Prices by {names}. Shaded: from the entry to the targets, and to the stop.</figcaption>
    </figure>
  );
}

type Priced = { at: string; priceUsd: number };

/** The path with the two prices that the record has, at the issue and at the end, oldest first. */
function coursesOf(
  { generatedAt, entry, closedAt, exitPrice }: PublicSignal,
  path: readonly Priced[],
): Point[] {
  const ended = closedAt !== undefined && typeof exitPrice === "number";
  return [
    ...path.map(({ at, priceUsd }) => ({ at: Date.parse(at), value: priceUsd })),
    { at: Date.parse(generatedAt), value: entry },
    ...(ended ? [{ at: Date.parse(closedAt), value: exitPrice }] : []),
  ].toSorted((a, b) => a.at - b.at);
}

/** A signal's levels from its issue to its end, on the path of the price. @param window Epoch ms. */
export function Levels({
  signal,
  points,
  window,
  frame,
}: {
  signal: PublicSignal;
  points: readonly Point[];
  window: { from: number; to: number };
  frame?: Frame;
}) {
  const { id, token, entry, tp1, tp2, sl, generatedAt, expiresAt, closedAt, exitPrice, status } = signal;
  const [from, to] = [Date.parse(generatedAt), Date.parse(closedAt ?? expiresAt)];
  const levels = [
    ["Entry", entry, "entry"],
    ["TP2", tp2, "target"],
    ["TP1", tp1, "target"],
    ["SL", sl, "stop"],
  ] as const;
  const known = levels.flatMap(([name, value, kind]) =>
    value === null ? [] : [{ kind, value, from, to, name: `${name} ${shortUsd(value)}` }],
  );
  const band = (kind: string, value: number | null) =>
    value === null ? [] : [{ kind, low: Math.min(value, entry), high: Math.max(value, entry), from, to }];
  const inWindow = points.filter(({ at }) => at >= window.from && at <= window.to);
  const last = inWindow.at(-1);
  return (
    <Chart
      id={`levels-${id}`}
      title={`${token} from the signal to its end, in USD`}
      says={`${known.map(({ name }) => name).join(", ")}. Last price shown: ${last === undefined ? "none" : money(last.value)}.`}
      from={window.from}
      to={window.to}
      bands={[...band("gain far", tp2), ...band("gain", tp1), ...band("risk", sl)]}
      lines={[{ kind: "", points: inWindow }]}
      levels={known}
      dots={[
        { kind: "pending", at: from, value: entry },
        ...(closedAt !== undefined && typeof exitPrice === "number"
          ? [{ kind: status.toLowerCase(), at: to, value: exitPrice }]
          : []),
      ]}
      {...(frame === undefined ? {} : { frame })}
    />
  );
}
