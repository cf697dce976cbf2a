/** A server that says how long a turn of its event loop took at most: what others wait for it on a machine that is free. */
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type RunningCluster, startCluster } from '../../support/running-cluster.ts'
import { verbsFor } from './attack-fields.ts'
import { attackField, type Cost, placesOf, readVerbs } from './attack-run.ts'

export class MeteredCluster implements AsyncDisposable {
  readonly cluster: RunningCluster
  readonly #directory: string

  private constructor(cluster: RunningCluster, directory: string) {
    this.cluster = cluster
    this.#directory = directory
  }

  static async start(flags: readonly string[]): Promise<MeteredCluster> {
    const directory = mkdtempSync(join(tmpdir(), 'turns-'))
    const meter = pathToFileURL(join(import.meta.dirname, 'turn-meter.ts'))
    const before = process.env['NODE_OPTIONS']
    process.env['TURN_METER_SOCKET'] = socketIn(directory)
    process.env['NODE_OPTIONS'] = `${before ?? ''} --import ${meter}`
    try {
      return new MeteredCluster(await startCluster(flags), directory)
    } finally {
      delete process.env['TURN_METER_SOCKET']
      if (before === undefined) delete process.env['NODE_OPTIONS']
      else process.env['NODE_OPTIONS'] = before
    }
  }

  /** In processor time, since the last call; to be called every few seconds. */
  longestTurnMs(): Promise<number> {
    return new Promise((resolve, reject) => {
      let text = ''
      const socket = connect(socketIn(this.#directory))
      socket.on('data', (piece: Buffer) => {
        text += piece
      })
      socket.on('error', reject)
      socket.on('end', () => resolve(Number(text)))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cluster[Symbol.asyncDispose]()
    rmSync(this.#directory, { recursive: true, force: true })
  }
}

const socketIn = (directory: string): string => join(directory, 'meter')

export type TurnCost<V extends string = string> = Cost<V> & { turnMs: number }

/**
 * The same requests again, each with the least of all attempts: code that has not run often, a collection of garbage and the like make
 * some turns longer.
 */
export async function leastTurns<V extends string>(
  metered: MeteredCluster,
  costs: readonly TurnCost<V>[],
  options: { limitMs: number; attempts: number },
): Promise<TurnCost<V>[]> {
  const { cluster } = metered
  const least = new Map(costs.map((cost) => [nameOf(cost), cost]))
  const places = await placesOf(cluster, new Set(costs.map(({ field }) => field.apiVersion)))
  for (let attempt = 0; attempt < options.attempts; attempt++) {
    for (const cost of [...least.values()]) {
      if (cost.turnMs <= options.limitMs) continue
      const place = places.get(`${cost.field.apiVersion} ${cost.field.kind}`) ?? ''
      const verbs = cost.verb === 'create' ? (['create'] as const) : [...verbsFor(cost.field), ...readVerbs]
      for await (const next of attackField(cluster, cost, place, verbs)) {
        const turnMs = await metered.longestTurnMs()
        const known = least.get(nameOf(next))
        if (known !== undefined && turnMs < known.turnMs) least.set(nameOf(next), { ...next, turnMs })
      }
    }
  }
  return [...least.values()]
}

const nameOf = ({ field, verb, variant, count }: Pick<Cost<string>, 'field' | 'verb' | 'variant' | 'count'>): string =>
  [field.apiVersion, field.kind, ...field.path, verb, variant, count].join(' ')
