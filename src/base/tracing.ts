import type { Clock } from '#base/clock.ts'
import type { Random } from '#base/random.ts'

/** What a piece of work was, how long it took, and which work it was part of (W3C trace context). */
export type Span = {
  readonly traceId: string
  readonly spanId: string
  setAttribute(name: string, value: string | number | boolean): void
  /** A part of this work. */
  child(name: string): Span
  /** Ending twice does nothing. */
  end(error?: unknown): void
  /** The `traceparent` header that hands this span on. */
  readonly traceparent: string
}

export type FinishedSpan = {
  name: string
  traceId: string
  spanId: string
  parentId: string | undefined
  startMs: number
  durationMs: number
  attributes: Record<string, string | number | boolean>
  error: string | undefined
}

export type TracerOptions = {
  clock: Clock
  random: Random /** Share of new traces that are kept, 0 to 1. */
  sampling: number
  onEnd(span: FinishedSpan): void
}

export class Tracer {
  readonly #options: TracerOptions

  constructor(options: TracerOptions) {
    this.#options = options
  }

  /** Begins work, as part of the caller's trace where it sent a `traceparent`. */
  span(name: string, traceparent?: string): Span {
    const parent = traceparent === undefined ? undefined : parseTraceparent(traceparent)
    if (parent) return parent.sampled ? this.#start(name, parent.traceId, parent.spanId) : unrecorded
    return this.#options.sampling > 0 && this.#options.random.float() < this.#options.sampling
      ? this.#start(name, this.#hex(16), undefined)
      : unrecorded
  }

  #start(name: string, traceId: string, parentId: string | undefined): Span {
    const { clock, onEnd } = this.#options
    const spanId = this.#hex(8)
    const startMs = clock.now()
    const started = clock.monotonic()
    const attributes: FinishedSpan['attributes'] = {}
    let ended = false
    return {
      traceId,
      spanId,
      traceparent: `00-${traceId}-${spanId}-01`,
      setAttribute: (key, value) => {
        attributes[key] = value
      },
      child: (childName) => this.#start(childName, traceId, spanId),
      end: (error) => {
        if (ended) return
        ended = true
        onEnd({
          name,
          traceId,
          spanId,
          parentId,
          startMs,
          durationMs: clock.monotonic() - started,
          attributes,
          error: error === undefined ? undefined : String(error),
        })
      },
    }
  }

  #hex(bytes: number): string {
    return Buffer.from(this.#options.random.bytes(bytes)).toString('hex')
  }
}

/** A span of a trace nobody keeps. */
const unrecorded: Span = {
  traceId: '0'.repeat(32),
  spanId: '0'.repeat(16),
  traceparent: `00-${'0'.repeat(32)}-${'0'.repeat(16)}-00`,
  setAttribute() {},
  child: () => unrecorded,
  end() {},
}

export function parseTraceparent(header: string): { traceId: string; spanId: string; sampled: boolean } | undefined {
  const match = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/.exec(header)
  if (!match?.[1] || !match[2] || !match[3] || /^0+$/.test(match[1]) || /^0+$/.test(match[2])) return undefined
  return { traceId: match[1], spanId: match[2], sampled: (Number.parseInt(match[3], 16) & 1) === 1 }
}
