/** What part of a container's output is asked for, and in what form. */

import { parseTime } from '#api/meta/time.ts'
import { defined } from '#base/defined.ts'

export type LogOptions = {
  follow: boolean
  previous: boolean
  timestamps: boolean
  /** So many last entries; all where absent. */
  tailLines?: number
  /** No more bytes than these. */
  limitBytes?: number
  /** Nothing older. */
  sinceMs?: number
  stream: 'All' | 'Stdout' | 'Stderr'
}

/** The request cannot be understood, or asks for what cannot be. */
export class BadLogOptions extends Error {
  override name = 'BadLogOptions'
  readonly code: 400 | 422

  constructor(code: 400 | 422, message: string) {
    super(message)
    this.code = code
  }
}

export function logOptions(query: URLSearchParams, nowMs: number): LogOptions {
  // An older name, of which `all` is the same as nothing.
  const tail = query.get('tail')
  const tailLines = tail ? (tail === 'all' ? undefined : wholeNumber(tail)) : wholeNumber(query.get('tailLines'))
  const limitBytes = wholeNumber(query.get('limitBytes'))
  const sinceSeconds = wholeNumber(query.get('sinceSeconds'))
  const sinceTime = query.get('sinceTime') || undefined
  const stream = query.get('stream') || 'All'
  const isImpossible =
    (tailLines !== undefined && tailLines < 0) ||
    (limitBytes !== undefined && limitBytes < 1) ||
    (sinceSeconds !== undefined && (sinceSeconds < 1 || sinceTime !== undefined)) ||
    (stream !== 'All' && tailLines !== undefined)
  if (isImpossible) throw new BadLogOptions(422, '{"message": "Invalid request."}')
  if (stream !== 'All' && stream !== 'Stdout' && stream !== 'Stderr') throw new BadLogOptions(400, `invalid stream type "${stream}"`)
  const sinceMs = sinceSeconds !== undefined ? nowMs - sinceSeconds * 1000 : sinceTime !== undefined ? timeOf(sinceTime) : undefined
  return {
    follow: isTrue(query.get('follow')),
    previous: isTrue(query.get('previous')),
    timestamps: isTrue(query.get('timestamps')),
    ...defined({ tailLines, limitBytes, sinceMs }),
    stream,
  }
}

/** As upstream reads flags in a query: everything but "false" and "0" is true. */
function isTrue(value: string | null): boolean {
  return value !== null && !/^(?:false|0)$/i.test(value)
}

function wholeNumber(value: string | null): number | undefined {
  if (value === null || value === '') return undefined
  if (!/^[+-]?\d+$/.test(value)) throw new BadLogOptions(400, '{"message": "Unable to decode query."}')
  return Number(value)
}

function timeOf(text: string): number {
  try {
    return parseTime(text)
  } catch {
    throw new BadLogOptions(400, '{"message": "Unable to decode query."}')
  }
}
