/** A log record as a line for people: time, level, component, sentence, then what varies. */
import type { LogFields, LogLevel } from '#base/log.ts'

export type TimedRecord = { timeMs: number; level: LogLevel; component: string; message: string; fields: LogFields }

const start = '\u001b['
const reset = `${start}0m`
const levelColours: Record<string, string> = { debug: `${start}2m`, info: `${start}36m`, warn: `${start}33m`, error: `${start}31m` }
/** The names of most components fit; a longer one only moves its own line. */
const componentWidth = 18

/** `12:04:07 INFO  kubelet             image pulled  image=nginx` */
export function logLine({ timeMs, level, component, message, fields }: TimedRecord, isColoured: boolean): string {
  const paint = (text: string, colour: string) => (isColoured ? `${colour}${text}${reset}` : text)
  const values = Object.entries(fields).map(([name, value]) => `${paint(`${name}=`, `${start}2m`)}${fieldText(value)}`)
  const head = [
    paint(clockTime(timeMs), `${start}2m`),
    paint(level.toUpperCase().padEnd(5), levelColours[level] ?? ''),
    component.replace(/^kube-/, '').padEnd(componentWidth),
    withoutControl(message),
  ].join(' ')
  return values.length === 0 ? head : `${head}  ${values.join(' ')}`
}

/** In the user's own time zone: what stands on a wall clock beside the terminal. */
function clockTime(timeMs: number): string {
  const time = new Date(timeMs)
  return [time.getHours(), time.getMinutes(), time.getSeconds()].map((part) => String(part).padStart(2, '0')).join(':')
}

function fieldText(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined ? '' : withoutControl(/[\s"=]|^$/.test(text) ? JSON.stringify(text) : text)
}

/** What a client sends is in some values, and a terminal obeys such characters. */
function withoutControl(text: string): string {
  return text.replace(/\p{Cc}/gu, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** A line of the JSON that the program logs in a pipe; undefined where it is something else. */
export function parseLogLine(line: string): TimedRecord | undefined {
  if (!line.startsWith('{"level":')) return undefined
  try {
    const { level, time, component, msg, ...fields } = JSON.parse(line) as Record<string, unknown>
    const timeMs = Date.parse(String(time))
    if (typeof level !== 'string' || typeof msg !== 'string' || Number.isNaN(timeMs)) return undefined
    return { timeMs, level: level as LogLevel, component: typeof component === 'string' ? component : '', message: msg, fields }
  } catch {
    // Cut short, by a full disk perhaps.
    return undefined
  }
}
