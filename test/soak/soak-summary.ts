import type { HistoryTally } from './history-run.ts'
import type { SoakTally } from './soak-run.ts'
import type { Backend } from './soaked-server.ts'

const rowNames: Record<Backend, string> = { sqlite: 'API server, embedded store', etcd: 'API server and etcd' }

/** What a soak did in the end, as docs/endurance.md shows it. */
export class SoakSummary {
  readonly #servers = new Map<Backend, SoakTally[]>()
  readonly #histories: Omit<HistoryTally, 'problems'>[] = []
  storeKills: { kills: number; acknowledged: number } | undefined
  malformed: { requests: number; problems: number } | undefined

  addServer(backend: Backend, tally: SoakTally): void {
    this.#servers.set(backend, [...(this.#servers.get(backend) ?? []), tally])
  }

  addHistory(tally: Omit<HistoryTally, 'problems'>): void {
    this.#histories.push(tally)
  }

  text({ seed, minutes, hasFailed }: { seed: number; minutes: number; hasFailed: boolean }): string {
    const lines = [
      '| | kills | full disks | spoilt files (refused) | torn logs | clock jumps | floods | requests | writes acknowledged | watch events |',
      '| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |',
    ]
    for (const [backend, tallies] of this.#servers) lines.push(serverRow(rowNames[backend], tallies))
    if (this.storeKills !== undefined) {
      const { kills, acknowledged } = this.storeKills
      lines.push(`| a writer of the embedded store alone | ${kills} | | | | | | | ${acknowledged} | |`)
    }
    const all = [...this.#servers.values()].flat()
    const faults = total(all, ({ fullDisks, spoiltFiles, tornFiles }) => fullDisks + spoiltFiles + tornFiles)
    lines.push('', `${total(all, ({ kills }) => kills)} kills of servers and ${faults} disk faults.`)
    if (this.#histories.length > 0) {
      const sum = (of: (tally: Omit<HistoryTally, 'problems'>) => number) => total(this.#histories, of)
      lines.push(
        `Histories of ${sum((each) => each.seconds)} s: ${sum((each) => each.operations)} operations and ${sum((each) => each.watchEvents)} watch events while this happened: ${faultsText(this.#histories)}.`,
      )
    }
    if (this.malformed !== undefined) lines.push(`${this.malformed.requests} malformed requests, ${this.malformed.problems} problems.`)
    lines.push(
      hasFailed
        ? `FAILED (seed ${seed}, ${minutes.toFixed(0)} minutes): see the lines above that begin with FAILED.`
        : `No acknowledged write was lost, and no watch missed or repeated a change (seed ${seed}, ${minutes.toFixed(0)} minutes).`,
    )
    return `${lines.join('\n')}\n`
  }
}

function faultsText(histories: readonly Pick<HistoryTally, 'faults'>[]): string {
  const sums = new Map<string, number>()
  for (const { faults } of histories) for (const [name, count] of Object.entries(faults)) sums.set(name, (sums.get(name) ?? 0) + count)
  return [...sums].map(([name, count]) => `${name} ${count}`).join(', ')
}

function serverRow(name: string, tallies: readonly SoakTally[]): string {
  const sum = (of: (tally: SoakTally) => number) => total(tallies, of)
  const spoilt = sum((each) => each.spoiltFiles)
  const cells = [
    name,
    sum((each) => each.kills),
    sum((each) => each.fullDisks),
    spoilt === 0 ? '' : `${spoilt} (${sum((each) => each.spoiltRefused)})`,
    sum((each) => each.tornFiles) || '',
    sum((each) => each.clockJumps),
    sum((each) => each.floods),
    sum((each) => each.requests),
    sum((each) => each.acknowledged),
    sum((each) => each.watchEvents),
  ]
  return `| ${cells.join(' | ')} |`
}

function total<T>(of: readonly T[], amount: (each: T) => number): number {
  return of.reduce((sum, each) => sum + amount(each), 0)
}
