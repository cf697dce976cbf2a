/** How long admission takes, plugin by plugin and all together. */
import type { AdmissionChain, AdmissionPlugin, AdmissionRequest } from '#apiserver/admission/admission.ts'
import type { Rounds } from '#apiserver/admission/reinvocation.ts'
import type { Clock } from '#base/clock.ts'
import type { Histogram, Metrics } from '#base/metrics.ts'

const buckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5]

type Step<Rest extends unknown[] = []> = (request: AdmissionRequest, ...rest: Rest) => void | Promise<void>
type Samples = { readonly passed: { observe(value: number): void }; readonly refused: { observe(value: number): void } }

export class AdmissionMetrics {
  readonly #clock: Clock
  readonly #plugins: Histogram
  readonly #steps: Histogram

  constructor(metrics: Metrics, clock: Clock) {
    this.#clock = clock
    this.#plugins = metrics.histogram('apiserver_admission_controller_admission_duration_seconds', 'How long plugins took.', buckets)
    this.#steps = metrics.histogram('apiserver_admission_step_admission_duration_seconds', 'How long all plugins together took.', buckets)
  }

  /** The plugins, timed. */
  measured(plugins: readonly AdmissionPlugin[]): AdmissionPlugin[] {
    return plugins.map((plugin) => {
      const timed = { ...plugin }
      if (plugin.mutate)
        timed.mutate = this.#timed((request, rounds: Rounds) => plugin.mutate?.(request, rounds), this.#plugins, {
          name: plugin.name,
          type: 'admit',
        })
      if (plugin.validate)
        timed.validate = this.#timed((request) => plugin.validate?.(request), this.#plugins, { name: plugin.name, type: 'validate' })
      return timed
    })
  }

  /** The chain, timed as a whole. */
  chain(chain: () => AdmissionChain): Pick<AdmissionChain, 'mutate' | 'validate'> {
    const mutate = this.#timed((request) => chain().mutate(request), this.#steps, { type: 'admit' })
    const validate = this.#timed((request) => chain().validate(request), this.#steps, { type: 'validate' })
    return { mutate: async (request) => mutate(request), validate: async (request) => validate(request) }
  }

  #timed<Rest extends unknown[] = []>(step: Step<Rest>, histogram: Histogram, labels: Record<string, string>): Step<Rest> {
    const samples = new Map<string, Samples>()
    const samplesFor = (operation: string): Samples => {
      let found = samples.get(operation)
      if (found === undefined) {
        found = {
          passed: histogram.with({ ...labels, operation, rejected: 'false' }),
          refused: histogram.with({ ...labels, operation, rejected: 'true' }),
        }
        samples.set(operation, found)
      }
      return found
    }
    const clock = this.#clock
    const secondsSince = (startedMs: number) => (clock.monotonic() - startedMs) / 1000
    const later = async (pending: Promise<void>, operation: string, startedMs: number): Promise<void> => {
      try {
        await pending
      } catch (error) {
        samplesFor(operation).refused.observe(secondsSince(startedMs))
        throw error
      }
      samplesFor(operation).passed.observe(secondsSince(startedMs))
    }
    // Most are over at once, some dozens of them for every write.
    return (request, ...rest) => {
      const startedMs = clock.monotonic()
      let pending: void | Promise<void>
      try {
        pending = step(request, ...rest)
      } catch (error) {
        samplesFor(request.operation).refused.observe(secondsSince(startedMs))
        throw error
      }
      if (pending !== undefined) return later(pending, request.operation, startedMs)
      samplesFor(request.operation).passed.observe(secondsSince(startedMs))
      return undefined
    }
  }
}
