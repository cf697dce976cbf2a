/**
 * Replays recorded conversations against an API server and compares answer for answer.
 *
 *     node test/golden/replay.ts --server URL (--token T | --cert F --key F) [--insecure | --ca F]
 *       [--only PREFIX] [--verbose] [--record] [--retry-seconds N] [FILES under recordings, such as 'core/*.json']
 *
 * Exit code 0 only if every scenario matched. With --record the expectations are replaced by what the server answers.
 */
import { parseArgs } from 'node:util'
import { ApiConnection, type ApiOptions } from './api-connection.ts'
import { type Difference, firstDifference, withSortedCauses } from './compare-answers.ts'
import type { Json } from './exact-json.ts'
import { readScenarios, type Scenario, writeScenarios } from './scenario.ts'
import { type RunOptions, ScenarioRun } from './scenario-run.ts'

export type Count = { scenarios: number; matched: number; steps: number; stepsMatched: number; orderOnly: number }
export type Failure = Difference & { scenario: Scenario; step: number }
export type ReplayOptions = RunOptions & { onFailure?: (failure: Failure) => void }

const nothing: Count = { scenarios: 0, matched: 0, steps: 0, stepsMatched: 0, orderOnly: 0 }

/** Plays the scenarios one after the other; counts by area. */
export async function replay(server: ApiOptions, scenarios: readonly Scenario[], options: ReplayOptions = {}): Promise<Map<string, Count>> {
  using api = new ApiConnection(server)
  const areas = new Map<string, Count>()
  for (const scenario of scenarios)
    areas.set(scenario.area, sum(areas.get(scenario.area) ?? nothing, await replayOne(api, scenario, options)))
  return areas
}

async function replayOne(api: ApiConnection, scenario: Scenario, options: ReplayOptions): Promise<Count> {
  const count: Count = { ...nothing, scenarios: 1, steps: scenario.steps.length }
  let failure: Failure | undefined
  let step = 0
  try {
    for await (const [asked, answer] of new ScenarioRun(api, scenario, options).answers()) {
      if (options.record) asked.expect = answer
      const expected = asked.expect ?? { status: 0 }
      const found = firstDifference(expected as Json, answer as Json)
      if (found && !firstDifference(withSortedCauses(expected) as Json, withSortedCauses(answer) as Json)) count.orderOnly++
      if (found) failure ??= { ...found, scenario, step }
      else count.stepsMatched++
      step++
    }
  } catch (error) {
    // The server hung up, or its answer could not be understood: a failure of this scenario alone.
    failure ??= { at: '$', expected: 'an answer', actual: String(error), scenario, step }
  }
  if (failure) options.onFailure?.(failure)
  return { ...count, matched: failure === undefined ? 1 : 0 }
}

function sum(one: Count, other: Count): Count {
  return {
    scenarios: one.scenarios + other.scenarios,
    matched: one.matched + other.matched,
    steps: one.steps + other.steps,
    stepsMatched: one.stepsMatched + other.stepsMatched,
    orderOnly: one.orderOnly + other.orderOnly,
  }
}

export function totalOf(areas: ReadonlyMap<string, Count>): Count {
  return [...areas.values()].reduce(sum, nothing)
}

export function failureText({ scenario, step, at, expected, actual }: Failure): string {
  const { method = 'WATCH', path } = scenario.steps[Math.min(step, scenario.steps.length - 1)] ?? { path: '' }
  const shown = (value: Json) => JSON.stringify(value).slice(0, 1500)
  return `${scenario.id}: step ${step} ${method} ${path}\n  at ${at}\n  expected ${shown(expected)}\n  actual   ${shown(actual)}`
}

export function tableOf(areas: ReadonlyMap<string, Count>): string {
  const rows = [...areas].sort(([one], [other]) => (one < other ? -1 : 1))
  const line = (area: string, { matched, scenarios, steps, stepsMatched, orderOnly }: Count) =>
    `${area.padEnd(34)} ${`${matched}/${scenarios}`.padStart(11)} ${`${stepsMatched}/${steps}`.padStart(13)} ${String(orderOnly || '').padStart(11)}`
  const head = `${'area'.padEnd(34)} ${'scenarios'.padStart(11)} ${'steps'.padStart(13)} ${'order only'.padStart(11)}`
  return [head, ...rows.map(([area, count]) => line(area, count)), line('total', totalOf(areas))].join('\n')
}

if (import.meta.main) {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      server: { type: 'string' },
      token: { type: 'string' },
      cert: { type: 'string' },
      key: { type: 'string' },
      ca: { type: 'string' },
      insecure: { type: 'boolean' },
      only: { type: 'string', default: '' },
      verbose: { type: 'boolean', default: false },
      record: { type: 'boolean', default: false },
      'retry-seconds': { type: 'string' },
    },
  })
  if (values.server === undefined) throw new Error('--server URL is required')
  const scenarios = (positionals.length > 0 ? positionals : ['**/*.json']).flatMap((pattern) => readScenarios(pattern))
  const areas = await replay(
    { ...values, server: values.server },
    scenarios.filter(({ id }) => id.startsWith(values.only)),
    {
      record: values.record,
      ...(values['retry-seconds'] === undefined ? {} : { retrySecondsAtMost: Number(values['retry-seconds']) }),
      ...(values.verbose ? { onFailure: (failure) => console.log(failureText(failure)) } : {}),
    },
  )
  if (values.record) writeScenarios(scenarios)
  console.log(tableOf(areas))
  const { matched, scenarios: played } = totalOf(areas)
  process.exitCode = matched === played ? 0 : 1
}
