/** How often the plugins of a profile are asked, and how long they take to answer. */
import type { Clock } from '#base/clock.ts'
import type { AnyPlugin } from '#scheduler/framework/plugin.ts'
import type { SchedulerMetrics } from '#scheduler/metrics.ts'

/** As upstream spells them in its metrics. */
export type MeasuredPoint =
  | 'PreEnqueue'
  | 'PreFilter'
  | 'Filter'
  | 'PostFilter'
  | 'PreScore'
  | 'Score'
  | 'Reserve'
  | 'Unreserve'
  | 'Permit'
  | 'PreBind'
  | 'Bind'
  | 'PostBind'

/** Counted in place: a look-up for each node and plugin would cost more than many a filter. */
export type Tally = { count: number }

export class PluginMetrics {
  readonly #metrics: Pick<SchedulerMetrics, 'extensionPointDuration' | 'pluginDuration'>
  readonly #clock: Clock
  readonly #profile: string
  readonly #tallies = new Map<MeasuredPoint, Map<string, Tally>>()

  constructor(metrics: Pick<SchedulerMetrics, 'extensionPointDuration' | 'pluginDuration'>, clock: Clock, profile: string) {
    this.#metrics = metrics
    this.#clock = clock
    this.#profile = profile
  }

  tally(point: MeasuredPoint, { name }: AnyPlugin): Tally {
    const byPlugin = this.#tallies.getOrInsertComputed(point, () => new Map<string, Tally>())
    const tally = byPlugin.getOrInsertComputed(name, () => ({ count: 0 }))
    return tally
  }

  *evaluations(): Iterable<readonly [{ plugin: string; extension_point: string; profile: string }, number]> {
    for (const [point, byPlugin] of this.#tallies) {
      for (const [plugin, { count }] of byPlugin) yield [{ plugin, extension_point: point, profile: this.#profile }, count]
    }
  }

  /** All plugins of a point together. */
  point<T>(point: MeasuredPoint, work: () => T): T {
    return this.#timed(work, (seconds, status) =>
      this.#metrics.extensionPointDuration.observe(seconds, { extension_point: point, status, profile: this.#profile }),
    )
  }

  plugin<T>(point: MeasuredPoint, { name: plugin }: AnyPlugin, work: () => T): T {
    return this.#timed(work, (seconds, status) => this.#metrics.pluginDuration.observe(seconds, { plugin, extension_point: point, status }))
  }

  #timed<T>(work: () => T, observe: (seconds: number, status: string) => void): T {
    const startMs = this.#clock.monotonic()
    const ended = (status: string) => observe((this.#clock.monotonic() - startMs) / 1000, status)
    let result: T
    try {
      result = work()
    } catch (error) {
      ended('Error')
      throw error
    }
    if (result instanceof Promise) {
      result.then(
        (answer) => ended(codeOf(answer)),
        () => ended('Error'),
      )
    } else ended(codeOf(result))
    return result
  }
}

/** The status code in whatever a plugin answers. */
function codeOf(answer: unknown): string {
  if (answer === 'skip') return 'Skip'
  if (typeof answer !== 'object' || answer === null) return 'Success'
  if ('refused' in answer) return codeOf(answer.refused)
  if ('status' in answer) return codeOf(answer.status)
  if ('waitMs' in answer) return 'Wait'
  return 'code' in answer && typeof answer.code === 'string' ? answer.code : 'Success'
}
