import { parseQuantity } from '#api/meta/quantity.ts'
import { badRequest } from '#api/meta/status-error.ts'
import { parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'
import { errorMessage } from '#base/error-message.ts'
import type { MetricSample } from '#metrics-server/adapter/metrics-provider.ts'

type Body = { value?: string | number; timestamp?: string; windowSeconds?: number; labels?: Record<string, string> }

/** `"300m"`, `12`, or an object with value, timestamp, windowSeconds and labels. Throws 400. */
export function pushedSample(body: string, nowMs: number): { sample: MetricSample; labels: Record<string, string> } {
  try {
    const given = JSON.parse(body) as Body | string | number
    const { value, timestamp, windowSeconds, labels = {} }: Body = typeof given === 'object' ? given : { value: given }
    if (value === undefined) throw new Error('value: is required')
    const milli = parseQuantity(String(value)).milliValue()
    const timeMs = timestamp === undefined ? nowMs : parseTime(timestamp)
    if (Number.isNaN(timeMs)) throw new Error(`timestamp: ${timestamp} is no time`)
    if (Object.values(labels).some((label) => typeof label !== 'string')) throw new Error('labels: must be texts')
    return { sample: { milli, timeMs, ...defined({ windowSeconds }) }, labels }
  } catch (error) {
    throw badRequest(`a metric is pushed as a quantity ("300m"), or as {"value": "300m", "labels": {…}}: ${errorMessage(error)}`)
  }
}
