/** One entry of a log file as container runtimes write it: `2016-10-06T00:17:09.669794202Z stdout F some words`. */

export type LogEntry = {
  /** As written. */
  time: string
  stream: 'stdout' | 'stderr'
  /** With the end of the line, unless the next entry of the stream goes on where this one stops. */
  content: Uint8Array
}

const space = 0x20
const newline = 0x0a

/** `line` may or may not end in a newline. Undefined when it is no entry. */
export function parsedEntry(line: Buffer): LogEntry | undefined {
  const afterTime = line.indexOf(space)
  const afterStream = line.indexOf(space, afterTime + 1)
  const afterTags = line.indexOf(space, afterStream + 1)
  if (afterTime < 0 || afterStream < 0 || afterTags < 0) return undefined
  const time = line.toString('latin1', 0, afterTime)
  const stream = line.toString('latin1', afterTime + 1, afterStream)
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/.test(time) || (stream !== 'stdout' && stream !== 'stderr')) return undefined
  const isPartial = line.toString('latin1', afterStream + 1, afterTags).split(':')[0] === 'P'
  const end = isPartial && line.at(-1) === newline ? line.length - 1 : line.length
  return { time, stream, content: line.subarray(afterTags + 1, end) }
}

/** With nine digits after the point, as upstream shows times. */
export function shownTime(time: string): string {
  const match = /^(.{19})(?:\.(\d+))?(.*)$/s.exec(time)
  if (match === null) return time
  const [, seconds = '', fraction = '', zone = ''] = match
  return `${seconds}.${fraction.slice(0, 9).padEnd(9, '0')}${zone}`
}
