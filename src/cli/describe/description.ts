/** The lines of a description: names, tabs, values; indented by two blanks a level. */

import { humanDuration } from '#api/meta/human-duration.ts'
import { descriptionColumns, TabWriter } from '#cli/print/tab-writer.ts'

export class Description {
  readonly #out = new TabWriter(descriptionColumns)
  #plain = ''
  readonly nowMs: number
  readonly #isAligned: boolean

  constructor(nowMs: number, { isAligned = true }: { isAligned?: boolean } = {}) {
    this.nowMs = nowMs
    this.#isAligned = isAligned
  }

  /** `text` may hold tabs, and has its own line break. */
  write(level: number, text: string): void {
    if (this.#isAligned) this.#out.write('  '.repeat(level) + text)
    else this.#plain += '  '.repeat(level) + text
  }

  /** `Name:   value` */
  field(level: number, name: string, value: unknown): void {
    this.write(level, `${name}:\t${value}\n`)
  }

  /** Only where there is something to show. */
  optional(level: number, name: string, value: unknown): void {
    if (value !== undefined && value !== null && value !== '') this.field(level, name, value)
  }

  labels(title: string, labels: Readonly<Record<string, string>> | undefined, separator = '='): void {
    const keys = Object.keys(labels ?? {}).sort()
    if (keys.length === 0) this.write(0, `${title}:\t<none>\n`)
    for (const [index, key] of keys.entries()) this.write(0, `${index === 0 ? `${title}:` : ''}\t${key}${separator}${labels?.[key]}\n`)
  }

  annotations(title: string, annotations: Readonly<Record<string, string>> | undefined): void {
    const keys = Object.keys(annotations ?? {})
      .filter((key) => key !== 'kubectl.kubernetes.io/last-applied-configuration')
      .sort()
    if (keys.length === 0) this.write(0, `${title}:\t<none>\n`)
    for (const [index, key] of keys.entries()) {
      const value = (annotations?.[key] ?? '').replace(/\n$/, '')
      const isLong = value.length + key.length + 2 > longestAnnotation || value.includes('\n')
      this.write(0, `${index === 0 ? `${title}:` : ''}\t${key}:${isLong ? '' : ` ${value}`}\n`)
      if (isLong)
        for (const line of value.split('\n'))
          this.write(0, `\t  ${line.length > longestAnnotation - 2 ? `${line.slice(0, longestAnnotation - 2)}...` : line}\n`)
    }
  }

  /** What was written since the last call, aligned. */
  text(): string {
    const text = this.#isAligned ? this.#out.flush() : this.#plain
    this.#plain = ''
    return text
  }

  since(time: string | undefined | null): string {
    return time ? humanDuration(this.nowMs - Date.parse(time)) : '<unknown>'
  }
}

const longestAnnotation = 140

const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** `Mon, 02 Jan 2006 15:04:05 -0700`, in the zone of the machine. */
export function rfc1123(time: string | undefined | null): string {
  if (!time) return 'Mon, 01 Jan 0001 00:00:00 +0000'
  const date = new Date(time)
  const two = (value: number) => String(value).padStart(2, '0')
  const offset = -date.getTimezoneOffset()
  const zone = `${offset < 0 ? '-' : '+'}${two(Math.floor(Math.abs(offset) / 60))}${two(Math.abs(offset) % 60)}`
  return `${days[date.getDay()]}, ${two(date.getDate())} ${months[date.getMonth()]} ${date.getFullYear()} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())} ${zone}`
}

/** As Go prints booleans for people. */
export const trueOrFalse = (value: boolean | undefined): string => (value ? 'True' : 'False')

export const orNone = (text: string | undefined): string => text || '<none>'

export function controllerOf(metadata: { ownerReferences?: { kind: string; name: string; controller?: boolean }[] } | undefined): string {
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller)
  return owner === undefined ? '' : `${owner.kind}/${owner.name}`
}
