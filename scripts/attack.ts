/**
 * Requests that are meant to hurt: `npm run attack`. For every list and map field of every kind creates, updates, patches and applies
 * with 3,000 and 20,000 entries, for every text some of 100 KB and of 1 MB, and then other ways to ask too much of a server. Says what
 * each cost, and how long another client waited for a GET meanwhile. Fails where the server answers 500, or too much, or somebody else too late.
 *
 * `--counts 3000`: other numbers of entries. `--kind Pod`: one kind alone. `--groups apps,batch`: those alone. `--every 10`: one field of ten.
 * `--thorough`: each verb at each place, where otherwise a type is attacked with all verbs in one place only. `--only fields`, `--only strings`,
 * `--only others`, `--only 'ping flood'`: one part.
 * `--turn-limit 50`: how long a turn of the event loop may take, in processor time, as the least of several attempts.
 * `--verbose`: each request. `--summary FILE`: keeps the table, after each row.
 */
import { writeFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'
import { builtInKinds } from '#api/kinds.ts'
import { attackFields } from '../test/e2e/attack/attack-fields.ts'
import type { Cost } from '../test/e2e/attack/attack-run.ts'
import { attackStrings } from '../test/e2e/attack/attack-strings.ts'
import { emptyRow, type Row, rowText, summaryText, tableHead } from '../test/e2e/attack/attack-table.ts'
import { Bystander, percentile } from '../test/e2e/attack/bystander.ts'
import { isExpectedFailure } from '../test/e2e/attack/expected-failure.ts'
import { leastTurns, MeteredCluster, type TurnCost } from '../test/e2e/attack/metered-cluster.ts'
import { otherAttacks } from '../test/e2e/attack/other-attacks.ts'
import { forgetPeak, peakMiB, residentMiB } from '../test/e2e/attack/server-memory.ts'

// Who ends an attack wants what it has started ended as well.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))

const { values: flags } = parseArgs({
  options: {
    counts: { type: 'string', default: '3000,20000' },
    kind: { type: 'string', default: '' },
    groups: { type: 'string', default: '' },
    every: { type: 'string', default: '1' },
    thorough: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    'turn-limit': { type: 'string', default: '50' },
    verbose: { type: 'boolean', default: false },
    summary: { type: 'string', default: '' },
  },
})
if (!['', 'fields', 'strings', 'others', ...Object.keys(otherAttacks)].includes(flags.only)) {
  console.error(`there is no attack ${JSON.stringify(flags.only)}: fields, strings, others, ${Object.keys(otherAttacks).join(', ')}`)
  process.exit(2)
}
/** What is wrong is quoted: an answer may be larger than the request, but not without end. */
const refusalLimitBytes = 2 << 20
const answerLimitBytes = 8 << 20
const waitLimitMs = 100
const memoryShare = 1.2
/** Until a server that nobody asks has given back what starting it has left behind. */
const restMs = 15_000
const settleMs = 60_000
/** Between two groups of fields. */
const briefMs = 10_000
/** Changes are kept for five to six minutes; what is then free is given back after a while. For fields it is waited once all are done. */
const leavesHistory: readonly string[] = ['tenant', 'reading', 'unread watches', 'large lists']
/** Waited for beside the others, on a cluster of its own. */
const longest = 'large lists'
const historyMs = 8 * 60_000
/** As users have them. */
const fewEntries = 3
const stringSizes = [100_000, 1_000_000] as const
/** Everything that can be served. */
const gates = new Set(builtInKinds.flatMap(({ featureGate = [] }) => featureGate))
const gateFlags = ['--feature-gates', [...gates].map((gate) => `${gate}=true`).join(',')]
const serverFlags = ['--store', 'memory', '--runtime-config', 'api/all=true', ...gateFlags]
const turnLimitMs = Number(flags['turn-limit'])
const turnAttempts = 4

const startedMs = performance.now()
const problems: string[] = []
const rows: Row[] = []
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/** A server, somebody who asks it for something all the while, and what it had in memory before it was attacked. */
class Attacked implements AsyncDisposable {
  readonly metered: MeteredCluster
  readonly bystander: Bystander
  readonly pid: number | undefined
  usualMiB = 0

  private constructor(metered: MeteredCluster) {
    this.metered = metered
    this.bystander = new Bystander(metered.cluster)
    this.pid = metered.cluster.process.pid
  }

  static async start(): Promise<Attacked> {
    const attacked = new Attacked(await MeteredCluster.start(serverFlags))
    attacked.bystander.pause()
    await sleep(restMs)
    attacked.usualMiB = residentMiB(attacked.pid)
    attacked.bystander.resume()
    await attacked.bystander.waits()
    return attacked
  }

  /** Once what an attack has left behind is given back, or it is plain that it is not. A server that is asked gives nothing back. */
  async settle(row: Row, limitMs: number, isFinal = true): Promise<void> {
    this.bystander.pause()
    for (const endMs = performance.now() + limitMs; performance.now() < endMs; ) {
      if (residentMiB(this.pid) <= this.usualMiB * memoryShare) break
      await sleep(1000)
    }
    this.bystander.resume()
    row.after = residentMiB(this.pid)
    if (isFinal && row.after > this.usualMiB * memoryShare)
      problems.push(`${row.name}: ${this.usualMiB} MiB before, ${row.after} MiB afterwards`)
  }

  /** What a server knows of a kind, and the code for it, comes with its first objects and stays: that is no harm an attack has done. */
  async use(isChosen: IsChosen): Promise<void> {
    const atRest = this.usualMiB
    let requests = 0
    for await (const _ of attackFields(this.metered.cluster, { counts: [fewEntries], isChosen })) requests++
    this.bystander.pause()
    await sleep(historyMs)
    this.usualMiB = residentMiB(this.pid)
    this.bystander.resume()
    await this.bystander.waits()
    console.log(`${atRest} MiB at rest, ${this.usualMiB} MiB when it had been used: ${requests} requests with ${fewEntries} entries each`)
  }

  async attack(row: Row, run: (row: Row) => Promise<void>): Promise<void> {
    forgetPeak(this.pid)
    await this.bystander.waits()
    await run(row).catch((error) => problems.push(`${row.name}: ${error}`))
    const { samples, failures } = await this.bystander.waits()
    row.waits.push(...samples)
    if (failures > 0) problems.push(`${row.name}: ${failures} GETs of another client failed`)
    row.peak = peakMiB(this.pid)
    const waitMs = percentile(row.waits, 0.99)
    if (waitMs > waitLimitMs) problems.push(`${row.name}: another client waited ${waitMs.toFixed(0)} ms (p99)`)
    rows.push(row)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.bystander[Symbol.asyncDispose]()
    await this.metered[Symbol.asyncDispose]()
  }
}

function tell(row: Row): void {
  console.log(rowText(row))
  keep()
}
function keep(): void {
  if (flags.summary === '') return
  const longestTurns = costs
    .toSorted((one, other) => other.turnMs - one.turnMs)
    .slice(0, 10)
    .map(shown)
  const [load = 0] = loadavg()
  writeFileSync(flags.summary, summaryText({ rows, problems, longestTurns, minutes: (performance.now() - startedMs) / 60_000, load }))
}

type IsChosen = (field: { apiVersion: string; kind: string }, index: number) => boolean
/** As the flags say. */
const isAsked: IsChosen = (field, index) => (flags.kind === '' || flags.kind === field.kind) && index % Number(flags.every) === 0

const costs: (TurnCost & { waitMs: number })[] = []
const shown = ({ field, verb, variant, count, status, ms, waitMs, turnMs, sentBytes, answeredBytes }: (typeof costs)[number]) =>
  `${turnMs.toFixed(0).padStart(5)} ms in one turn, ${ms.toFixed(0).padStart(6)} ms in all, another ${waitMs.toFixed(0)} ms  ${status}  ${sentBytes} -> ${answeredBytes} bytes  ${verb} ${field.apiVersion} ${field.kind} ${field.path.join('.')} x ${count} ${variant}`

const counts = flags.counts.split(',').map(Number)

async function attackedGroup(part: 'fields' | 'strings', group: string, attacked: Attacked): Promise<void> {
  const { metered, bystander } = attacked
  const named = emptyRow(`${part} of ${group || 'core'}`, residentMiB(attacked.pid))
  await attacked.attack(named, async (row) => {
    const isChosen: IsChosen = (field, index) => groupOf(field.apiVersion) === group && isAsked(field, index)
    const isThorough = flags.thorough
    const attacks: AsyncIterable<Cost<string>> =
      part === 'fields'
        ? attackFields(metered.cluster, { counts, isThorough, isChosen })
        : attackStrings(metered.cluster, { sizes: stringSizes, isThorough, isChosen })
    const long: (typeof costs)[number][] = []
    await metered.longestTurnMs()
    for await (const cost of attacks) {
      const turnMs = await metered.longestTurnMs()
      const { samples } = await bystander.waits()
      row.waits.push(...samples)
      row.requests++
      row.slowestMs = Math.max(row.slowestMs, cost.ms)
      row.answered = Math.max(row.answered, cost.answeredBytes)
      const measuredCost = { ...cost, turnMs, waitMs: Math.max(0, ...samples) }
      if (turnMs <= turnLimitMs) {
        costs.push(measuredCost)
        row.turnMs = Math.max(row.turnMs, turnMs)
      } else long.push(measuredCost)
      if (flags.verbose) console.log(shown(measuredCost))
      const limitBytes = cost.status < 300 ? answerLimitBytes : refusalLimitBytes
      if ((cost.status >= 500 && !isExpectedFailure(cost)) || cost.answeredBytes > limitBytes)
        problems.push(`${shown(measuredCost)} ${cost.status >= 500 ? cost.text.slice(0, 500) : ''}`)
    }
    for (const cost of await leastTurns(metered, long, { limitMs: turnLimitMs, attempts: turnAttempts })) {
      const measuredCost = { waitMs: 0, ...cost }
      costs.push(measuredCost)
      row.turnMs = Math.max(row.turnMs, cost.turnMs)
      if (cost.turnMs > turnLimitMs) problems.push(shown(measuredCost))
    }
  })
  await attacked.settle(named, briefMs, false)
  tell(named)
}

async function other(name: string, attacked: Attacked): Promise<Row> {
  const { metered } = attacked
  const named = emptyRow(name, residentMiB(attacked.pid))
  await attacked.attack(named, async (row) => {
    await metered.longestTurnMs()
    const looking = setInterval(async () => {
      row.turnMs = Math.max(row.turnMs, await metered.longestTurnMs().catch(() => 0))
    }, 1000)
    const outcome = await otherAttacks[name]?.(metered.cluster, 1).finally(() => clearInterval(looking))
    row.turnMs = Math.max(row.turnMs, await metered.longestTurnMs())
    Object.assign(row, outcome)
  })
  return named
}

const groupOf = (apiVersion: string) => (apiVersion.includes('/') ? (apiVersion.split('/')[0] ?? '') : '')

const isWanted = (name: string) => flags.only === name || flags.only === 'others' || (flags.only === '' && flags.kind === '')

await using attacked = await Attacked.start()

if (flags.only !== '' && flags.only !== 'fields' && flags.only !== 'strings') console.log(`${attacked.usualMiB} MiB at rest\n${tableHead}`)
await using longRemembered = isWanted(longest) ? await Attacked.start() : undefined
let settling: Promise<void> | undefined
if (longRemembered !== undefined) {
  const row = await other(longest, longRemembered)
  settling = longRemembered.settle(row, historyMs).then(() => tell(row))
}
for (const part of ['fields', 'strings'] as const) {
  if (flags.only !== '' && flags.only !== part) continue
  const { longFields } = await import('../test/e2e/attack/long-fields.ts')
  const chosen = longFields().filter(({ kind }) => flags.kind === '' || flags.kind === kind)
  const groups = new Set(chosen.map(({ apiVersion }) => groupOf(apiVersion)))
  if (flags.kind === '' || flags.kind === 'Attacked') groups.add('attack.example.com')
  const wanted = new Set(flags.groups === '' ? groups : flags.groups.split(','))
  if (part === 'fields') await attacked.use((field, index) => wanted.has(groupOf(field.apiVersion)) && isAsked(field, index))
  console.log(tableHead)
  for (const group of groups) if (wanted.has(group)) await attackedGroup(part, group, attacked)
  // Texts alone are a matter of minutes: whether memory is given back is seen with the fields.
  if (flags.only === 'strings') continue
  const afterAll = emptyRow(`after all ${part}`, residentMiB(attacked.pid))
  await attacked.settle(afterAll, historyMs)
  rows.push(afterAll)
  tell(afterAll)
}
for (const name of Object.keys(otherAttacks)) {
  if (!isWanted(name) || name === longest) continue
  const row = await other(name, attacked)
  await attacked.settle(row, leavesHistory.includes(name) ? historyMs : settleMs)
  tell(row)
}
await settling

console.log('\nthe longest turns:')
for (const cost of costs.toSorted((one, other) => other.turnMs - one.turnMs).slice(0, 40)) console.log(shown(cost))
console.log('the longest that another client waited:')
for (const cost of costs.toSorted((one, other) => other.waitMs - one.waitMs).slice(0, 10)) console.log(shown(cost))
console.log('the slowest:')
for (const cost of costs.toSorted((one, other) => other.ms - one.ms).slice(0, 20)) console.log(shown(cost))
console.log('the largest answers:')
for (const cost of costs.toSorted((one, other) => other.answeredBytes - one.answeredBytes).slice(0, 5)) console.log(shown(cost))
const stallLines = attacked.metered.cluster
  .output()
  .split('\n')
  .filter((line) => line.includes('event loop stalled'))
console.log(`${stallLines.length} lines in the log about stalls of the event loop; the last: ${stallLines.slice(-5).join('\n')}`)
console.log(`${((performance.now() - startedMs) / 60_000).toFixed(1)} minutes`)
keep()
for (const problem of problems) console.error(`FAILED ${problem}`)
if (problems.length > 0) process.exitCode = 1
await attacked[Symbol.asyncDispose]()
await longRemembered?.[Symbol.asyncDispose]()
process.exit()
